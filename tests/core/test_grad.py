"""`autograd.grad` with all its options, and gradients of gradients."""

from __future__ import annotations

from typing import Any

from tests.twice import leaf, raised, twice

# ---------------------------------------------------------------- autograd.grad


@twice
def test_grad_options(torch: Any) -> Any:
    a, b, c = leaf(torch, [1.0, 2.0]), leaf(torch, [3.0, 4.0]), leaf(torch, [5.0, 6.0])
    grad = torch.autograd.grad
    y = (a * b).sum()
    plain = torch.ones(2)
    return [
        grad(y, [a, b], retain_graph=True),
        grad(y, a, retain_graph=True),
        raised(grad, y, [a, c], retain_graph=True, words=9),
        grad(y, [a, c], allow_unused=True, retain_graph=True),
        grad(y, [a, c], materialize_grads=True, retain_graph=True),
        raised(grad, y, [c], allow_unused=False, materialize_grads=True, words=8),
        grad(y, [a, a, b], retain_graph=True),
        raised(grad, y, [plain], words=8),
        raised(grad, plain.sum(), [a], words=8),
        raised(grad, y, [], words=2),
        grad([a * 2, b * 3], [a, b], [torch.ones(2).double(), torch.ones(2).double() * 2]),
        grad([y, (b * c).sum()], [b], [None, None]),
        raised(grad, [a * b], [a], [None], words=8),
        raised(grad, [a.sum(), b.sum()], [a], [None], words=4),
        a.grad is None and b.grad is None,
    ]


@twice
def test_grad_of_an_output_by_itself(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0])
    y = x * 2
    one = torch.autograd.grad(y.sum(), y, retain_graph=True)
    self_grad = torch.autograd.grad(x.sum(), x)
    identity = torch.autograd.grad(y, y, torch.ones(2).double() * 3, retain_graph=True)
    both = torch.autograd.grad((y * x).sum(), [y, x])
    return one, self_grad, identity, both


@twice
def test_grad_only_inputs_warns(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0])
    return torch.autograd.grad((x * 2).sum(), x, only_inputs=False)


@twice
def test_batched_gradients(torch: Any) -> Any:
    x, unused = leaf(torch, [1.0, 2.0, 3.0]), leaf(torch, [1.0])
    y = x * x * 2
    rows = torch.eye(3, dtype=torch.float64)
    found = torch.autograd.grad(y, [x], rows, is_grads_batched=True, retain_graph=True)
    second = torch.autograd.grad(
        [y, x * 3], [x, unused], [rows, rows * 2], is_grads_batched=True, allow_unused=True
    )
    return found, second


@twice
def test_grad_runs_only_what_is_needed(torch: Any) -> Any:
    a, b = leaf(torch, [1.0]), leaf(torch, [2.0])
    ran: list[str] = []
    left, right = a.exp(), b.exp()
    left.grad_fn.register_hook(lambda *_: ran.append("left"))
    right.grad_fn.register_hook(lambda *_: ran.append("right"))
    torch.autograd.grad((left * right).sum(), a)
    return ran


@twice
def test_tuple_results(torch: Any) -> Any:
    x = leaf(torch, [1.0])
    found = torch.autograd.grad(x * 2, x)
    return type(found).__name__, len(found)


# ---------------------------------------------------------------- higher orders


@twice
def test_fourth_order(torch: Any) -> Any:
    x = leaf(torch, [0.3, -0.7, 1.2])
    values = []
    y = (x.sin() * x.exp() + x**5 / (1 + x * x)).sum()
    for _ in range(4):
        (y,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        values.append(y.detach())
    return values


@twice
def test_second_order_by_backward(torch: Any) -> Any:
    x, w = leaf(torch, [1.0, 2.0]), leaf(torch, [[1.0, 0.5], [-0.5, 2.0]])
    hidden = (w * x).tanh().sum(1)
    (gradient,) = torch.autograd.grad((hidden**2).sum(), x, create_graph=True)
    (gradient**2).sum().backward()
    return x.grad, w.grad


@twice
def test_gradient_with_respect_to_the_seed(torch: Any) -> Any:
    x, v = leaf(torch, [1.0, 2.0]), leaf(torch, [3.0, 4.0])
    (g,) = torch.autograd.grad(x.exp(), x, v, create_graph=True)
    return torch.autograd.grad(g.sum(), [x, v])


# ---------------------------------------------------------------- what is in .grad


@twice
def test_a_gradient_with_a_graph_is_copied(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0])
    (x**3).sum().backward(create_graph=True)
    assert x.grad is not None
    first = x.grad
    nodes = [first.grad_fn.name(), len(first.grad_fn.next_functions), first._version]
    first.sum().backward()
    return repr(first), nodes, x.grad


@twice
def test_gradients_lie_in_memory_as_leaves_do(torch: Any) -> Any:
    seen = []
    for create_graph in (False, True):
        for data in (
            torch.ones(3, 4).t(),
            torch.ones(3, 4).t()[::2],
            torch.ones(3, 4)[:, ::2],
            torch.ones(4, 1).expand(4, 3),
            torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last),
        ):
            for function in (lambda w: (w**2).sum(), lambda w: w.sum()):
                w = data.detach().requires_grad_()
                function(w).backward(create_graph=create_graph)
                seen.append(w.grad.stride())
    return seen


@twice
def test_the_node_of_a_function_that_is_differentiable_once(torch: Any) -> Any:
    class Twice(torch.autograd.Function):  # type: ignore[misc]  # either library's
        @staticmethod
        def forward(ctx: Any, a: Any, number: float, b: Any) -> Any:
            return a * number + b

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2, None, g

    a, b, g = leaf(torch, [1.0]), leaf(torch, [2.0]), leaf(torch, [3.0])
    of_a, of_b = torch.autograd.grad(Twice.apply(a, 3.0, b), (a, b), g, create_graph=True)
    node = of_a.grad_fn
    edges = [each and each.name() for each, _ in node.next_functions]
    return (
        [type(node).__name__, node.name(), edges, of_b.grad_fn is node, of_b.output_nr],
        raised(of_a.sum().backward, words=12),
    )


@twice
def test_gradients_of_real_numbers_beside_complex_ones(lib: Any) -> Any:
    """The real part is summed where the number was repeated, so that the sum has no gaps."""
    seen = []
    for shape in ((3, 4), (4,), (1, 4), ()):
        x = lib.ones(shape, requires_grad=True)
        z = lib.ones(2, 3, 4, dtype=lib.complex64, requires_grad=True)
        for result in (x - z, z * x, z / x):
            grads = lib.autograd.grad(result.real.sum(), (x, z))
            seen += [(each, each.stride()) for each in grads]
    return seen


@twice
def test_gradients_of_parts_of_complex_numbers_are_views(lib: Any) -> Any:
    seen = []
    for part in (lambda z: z.real, lambda z: z.imag, lambda z: lib.view_as_real(z)):
        z = lib.ones(2, 3, dtype=lib.complex64, requires_grad=True)
        (grad,) = lib.autograd.grad((part(z) ** 2).sum(), z, create_graph=True)
        seen += [grad.detach(), grad.stride(), grad._is_view(), grad.grad_fn.name()]
        seen += [lib.autograd.grad(grad.abs().sum(), z, retain_graph=True)]
        seen += [grad.mul_(2).grad_fn.name(), lib.autograd.grad(grad.abs().sum(), z)]
        part(z).sum().backward()
        seen += [z.grad, z.grad._is_view(), z.grad.stride()]
    return seen


@twice
def test_the_gradient_of_one_number_is_a_sum(lib: Any) -> Any:
    seen = []
    for shape in ((2,), (2, 3), (1,), (0, 2)):
        x = lib.tensor(1.5, requires_grad=True)
        y = lib.ones(shape, requires_grad=True)
        (grad,) = lib.autograd.grad((y / x).sum(), x, create_graph=True)
        seen += [grad, grad.grad_fn.name()]
    return seen


@twice
def test_outputs_that_lead_to_no_input_are_left_alone(lib: Any) -> Any:
    seen: list[Any] = []
    for alone in (True, False):
        for inner in (True, False):
            for into in ("grad", "backward"):
                a, b = lib.ones(2, requires_grad=True), lib.ones(2, requires_grad=True)
                c = a * a if inner else a
                c.register_hook(lambda g: seen.append(g.clone()))  # noqa: B023  # used at once
                given = [c] if alone else [c, b * 2]
                seeds = [lib.ones(2) for _ in given]
                if into == "grad":
                    seen.append(lib.autograd.grad(given, [b], seeds, allow_unused=True))
                else:
                    lib.autograd.backward(given, seeds, inputs=[b])
                seen += [a.grad, b.grad]
                c.sum().backward()
                seen.append(a.grad)
    return seen
