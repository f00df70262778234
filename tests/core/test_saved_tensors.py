"""`autograd.graph`: hooks on saved tensors and on several gradients, edges, versions."""

from __future__ import annotations

from typing import Any

from tests.twice import leaf, outcome, raised, twice

# ---------------------------------------------------------------- saved tensors


@twice
def test_saved_tensors_hooks(torch: Any) -> Any:
    x, w = leaf(torch, [1.0, 2.0]), leaf(torch, [3.0, 4.0])
    log: list[Any] = []

    def pack(t: Any) -> Any:
        log.append(("pack", t.tolist()))
        return t.tolist()

    def unpack(values: Any) -> Any:
        log.append(("unpack", values))
        return torch.tensor(values, dtype=torch.float64)

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = (x * w).exp()
    z = y * 2
    z.sum().backward()
    return log, x.grad, w.grad


@twice
def test_the_innermost_hooks_apply(torch: Any) -> Any:
    x = leaf(torch, [2.0])
    hooks = torch.autograd.graph.saved_tensors_hooks
    log: list[str] = []

    def named(name: str) -> Any:
        return hooks(lambda t: (log.append(name), t)[1], lambda t: t)

    with named("outer"):
        a = x.exp()
        with named("inner"):
            b = a.exp()
        c = b.exp()
    c.backward()
    return log, x.grad


@twice
def test_what_only_gradients_that_go_nowhere_need_is_not_saved(torch: Any) -> Any:
    """A view without history that requires grad as its base does gets no gradient."""
    seen: list[Any] = []
    for kind in ("under no_grad", "before the base", "usual"):
        for of_other in (True, False):
            base = leaf(torch, [1.0, 2.0, 3.0])
            if kind == "before the base":
                base = base.detach()
                view = base[:2]
                base.requires_grad_()
            else:
                with torch.set_grad_enabled(kind == "usual"):
                    view = base[:2]
            other = torch.tensor([0.5, 0.25], dtype=base.dtype, requires_grad=of_other)
            functions = [
                lambda v, o: v * o, lambda v, o: o * v, lambda v, o: v @ o, lambda v, o: v * v,
                lambda v, o: v / o, lambda v, o: torch.addcmul(o, v, o), torch.hypot, torch.atan2,
                lambda v, o: v.exp(), lambda v, o: v**2, lambda v, o: v**o, torch.maximum,
                lambda v, o: (o * 1).mul_(v), lambda v, o: torch.cat([v * o, o]),
            ]  # fmt: skip
            for function in functions:
                saved: list[Any] = []

                def pack(t: Any, saved: list[Any] = saved) -> Any:
                    saved.append(t.detach().clone())
                    return t

                with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
                    result = function(view, other)
                result.sum().backward()
                seen += [sorted(each.sum().item() for each in saved), base.grad, other.grad]
    return seen


@twice
def test_operations_without_a_derivative_refuse_gradients_that_go_nowhere(torch: Any) -> Any:
    base = leaf(torch, [1.0, 2.0, 3.0])
    with torch.no_grad():
        view = base[:2]
    results = [0.5 // view, view // view, view // 2]
    return [raised(result.sum().backward, words=5) for result in results]


@twice
def test_questions_to_views_that_have_lost_their_history(torch: Any) -> Any:
    base = leaf(torch, [1.0, 2.0, 3.0]) * 1
    with torch.no_grad():
        view = base[:2]
        base.mul_(2)
    questions = [torch.equal, torch.allclose, torch.isclose, torch.eq, torch.isin]
    return [outcome(lambda: question(view, view), words=4) for question in questions]  # noqa: B023  (called at once)


@twice
def test_saved_tensors_hook_errors(torch: Any) -> Any:
    x = leaf(torch, [2.0])
    graph = torch.autograd.graph
    with graph.saved_tensors_hooks(lambda t: t, lambda t: 3):
        wrong_type = x.exp()
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t[:0]):
        wrong_shape = x.exp()

    def disabled() -> None:
        refused = graph.disable_saved_tensors_hooks("not here")
        with refused, graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            x.exp()

    def fails(t: Any) -> None:
        raise KeyError("pack")

    def packing() -> None:
        with graph.saved_tensors_hooks(fails, lambda t: t):
            x.exp()

    with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        nested = raised(lambda: graph.disable_saved_tensors_hooks("inner").__enter__())
    return [
        raised(wrong_type.backward, words=6),
        raised(wrong_shape.sum().backward, words=0) != "nothing raised",
        raised(disabled),
        raised(packing),
        nested,
    ]


@twice
def test_pack_hook_that_writes(torch: Any) -> Any:
    x = leaf(torch, [2.0]) * 1

    def run() -> None:
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t):
            x.sin()

    return raised(run, words=10)


@twice
def test_save_on_cpu(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0])
    with torch.autograd.graph.save_on_cpu():
        y = (x * x).sin()
    y.sum().backward()
    return x.grad


@twice
def test_double_backward_through_hooks(torch: Any) -> Any:
    x = leaf(torch, [0.5, 0.7])
    hooks = torch.autograd.graph.saved_tensors_hooks
    with hooks(lambda t: t.clone(), lambda t: t):
        y = (x.exp() * x).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
    g.sum().backward()
    return g.detach(), x.grad


@twice
def test_raw_saved_tensors(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0])
    y = x.sin()
    saved = y.grad_fn._raw_saved_self
    saved.register_hooks(lambda t: t.tolist(), lambda v: torch.tensor(v).double())
    again = raised(saved.register_hooks, lambda t: t, lambda t: t, words=11)
    y.sum().backward()
    freed = raised(y.grad_fn._raw_saved_self.register_hooks, lambda t: t, lambda t: t, words=11)
    return x.grad, again, freed


# ---------------------------------------------------------------- several tensors, edges


@twice
def test_multi_grad_hook(torch: Any) -> Any:
    a, b, c = leaf(torch, [1.0]), leaf(torch, [2.0]), leaf(torch, [3.0])
    log: list[Any] = []
    register = torch.autograd.graph.register_multi_grad_hook

    def all_of(grads: Any) -> None:
        log.append(["all", *[g if g is None else g.item() for g in grads]])

    first = register((a, b, c), all_of)
    handle = register((a, b, c), lambda g: log.append(["any", g.item()]), mode="any")
    (a * b * c).backward()
    (a * b).backward()
    handle.remove()
    first.remove()
    (a * c).backward()
    y, z = a * 2, b * 3
    register((y, z), all_of)
    torch.autograd.grad(y * z, [a], retain_graph=True)
    torch.autograd.grad(y * z, [a, b])
    return log, raised(register, (a,), print, mode="most")


@twice
def test_gradient_edges(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0])
    y = x * 3
    edge = torch.autograd.graph.get_gradient_edge(y)
    leaf_edge = torch.autograd.graph.get_gradient_edge(x)
    out = (y * y).sum()
    found = torch.autograd.grad(out, [edge, leaf_edge], retain_graph=True)
    root = torch.autograd.graph.get_gradient_edge(out)
    from_edge = torch.autograd.grad(root, [x], torch.tensor(2.0).double(), retain_graph=True)
    torch.autograd.backward(root, torch.tensor(1.0).double())
    return [
        edge.node is y.grad_fn, edge.output_nr, leaf_edge.node.name(), found, from_edge, x.grad,
        raised(torch.autograd.graph.get_gradient_edge, torch.ones(1), words=6),
    ]  # fmt: skip


@twice
def test_increment_version(torch: Any) -> Any:
    x = leaf(torch, [1.0])
    y = x * 1
    z = y.sin()
    before = y._version
    torch.autograd.graph.increment_version(y)
    return y._version - before, raised(z.backward, words=10)


@twice
def test_allow_mutation(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0])
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        y = x * 1
        z = y.sin()
        y.mul_(100)
        w = y**2
        y[0] = 0
        (z + w).sum().backward()
    return x.grad


@twice
def test_mutation_is_refused_outside(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0])
    y = x * 1
    z = y.sin()
    y.mul_(100)
    return raised(z.sum().backward, words=10)


# ---------------------------------------------------------------- detached in place


@twice
def test_saved_tensors_that_were_detached_in_place(torch: Any) -> Any:
    """What backward needs of a tensor at a place in the graph that it has left is refused."""
    uses: list[Any] = [
        lambda a, w: a * w, lambda a, w: a.sin(), lambda a, w: a.exp(), lambda a, w: a + w,
        lambda a, w: torch.maximum(a, w), lambda a, w: a.view(-1) * a.view(-1),
        lambda a, w: a @ torch.ones(2, 2, dtype=torch.float64), lambda a, w: a.mul_(3) * w,
        lambda a, w: a.sum() + a.exp().sum(),
    ]  # fmt: skip
    seen: list[Any] = []
    for use in uses:
        for after in (
            lambda a: None, lambda a: a.requires_grad_(), lambda a: a.add_(1), lambda a: a.mul(2)
        ):  # fmt: skip
            w = leaf(torch, [[1.0, 2.0]])
            a = w * 2
            loss = use(a, w).sum()
            a.detach_()
            after(a)
            seen += [raised(loss.backward, words=12), w.grad]
    return seen


@twice
def test_detaching_in_place_after_backward_or_before_the_use(torch: Any) -> Any:
    w = leaf(torch, [1.0, 2.0])
    state = w * 2
    losses = []
    for _ in range(3):
        loss = (state * w).sum()
        state = (state * w).tanh()
        loss.backward()
        state.detach_()
        losses.append(loss)
    leaf_itself = leaf(torch, [3.0])
    square = leaf_itself * leaf_itself
    leaf_itself.detach_()
    square.backward()
    return losses, w.grad, state, leaf_itself.grad


@twice
def test_hooks_and_functions_keep_tensors_that_are_detached_later(torch: Any) -> Any:
    class Square(torch.autograd.Function):  # type: ignore[misc, name-defined]  # the library is a parameter
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2 * ctx.saved_tensors[0]

    w = leaf(torch, [1.0, 2.0])
    a, b = w * 2, w * 3
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        loss = (a * w).sum()
    loss = loss + Square.apply(b).sum()
    a.detach_(), b.detach_()
    loss.backward()
    return w.grad


@twice
def test_hooks_on_the_gradients_of_several_need_all_to_have_one(torch: Any) -> Any:
    x, y = leaf(torch, [1.0]), torch.ones(1)
    seen: list[Any] = []
    register = torch.autograd.graph.register_multi_grad_hook
    register([x, y], seen.append, mode="any")
    (x * y).sum().backward()
    return seen, [
        raised(register, [x, y], seen.append), raised(register, [y, y], seen.append),
        raised(register, [y], seen.append, mode="any"), raised(register, [], seen.append),
        raised(register, [x], seen.append, mode="x"),
    ]  # fmt: skip
