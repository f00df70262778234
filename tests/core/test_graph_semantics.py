"""Corners of the graph: backward inside backward, writes, views, aliases, copies of tensors."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.twice import raised, twice, vector

# ---------------------------------------------------------------- backward inside backward


@twice
def test_backward_in_a_hook(torch: Any) -> Any:
    x, w = vector(torch, 1.0), vector(torch, 2.0)
    log: list[float] = []

    def hook(g: Any) -> None:
        with torch.enable_grad():
            inner = w * w
        inner.backward()
        log.append(w.grad.item())

    y = x * 3
    y.register_hook(hook)
    y.backward()
    return log, x.grad, w.grad


@twice
def test_backward_in_a_custom_backward(torch: Any) -> Any:
    class Nested(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, depth: int) -> Any:
            ctx.depth = depth
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            if ctx.depth:
                with torch.enable_grad():
                    inner = Nested.apply(x.detach().requires_grad_(), ctx.depth - 1)
                    inner.sum().backward()
            return g * 2, None

    x = vector(torch, 1.0)
    Nested.apply(x, 30).backward()
    return x.grad


@twice
def test_grad_mode_inside_backward(torch: Any) -> Any:
    x = vector(torch, 2.0)
    seen: list[bool] = []
    for create_graph in (False, True):
        y = x * x
        y.register_hook(lambda g: seen.append(torch.is_grad_enabled()))
        torch.autograd.grad(y, x, create_graph=create_graph)
    with torch.no_grad():
        z = x.detach()
    return seen, torch.is_grad_enabled(), z.requires_grad


@twice
def test_backward_under_no_grad(torch: Any) -> Any:
    x = vector(torch, 2.0)
    y = x**3
    with torch.no_grad():
        y.backward(retain_graph=True)
        (g,) = torch.autograd.grad(y, x, create_graph=True)
    return x.grad, g.detach(), g.requires_grad


@twice
def test_error_inside_backward_leaves_a_usable_engine(torch: Any) -> Any:
    x = vector(torch, 2.0)

    def fail(g: Any) -> None:
        raise ValueError("stop")

    y = x * 2
    handle = y.register_hook(fail)
    error = raised(y.backward)
    handle.remove()
    (x * 5).backward()
    return error, x.grad, torch.is_grad_enabled()


# ---------------------------------------------------------------- accumulation


@twice
def test_seed_with_a_history(torch: Any) -> Any:
    x, v = vector(torch, 2.0), vector(torch, 3.0)
    (x * x).backward(v * 1)
    plain = x.grad.requires_grad
    x.grad = None
    (x * x).backward(v * 1, create_graph=True)
    x.grad.backward()
    return plain, x.grad.detach(), v.grad


@twice
def test_gradient_assigned_with_a_history(torch: Any) -> Any:
    x, w = vector(torch, 2.0), vector(torch, 3.0)
    x.grad = w * w
    (x * 2).backward(create_graph=True)
    x.grad.backward()
    return x.grad.detach(), w.grad


@twice
def test_leaf_rebound_in_place_under_no_grad(torch: Any) -> Any:
    x = vector(torch, 1.0, 2.0)
    losses = []
    for _ in range(3):
        loss = (x**2).sum()
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            x -= 0.1 * x.grad
            x.grad.zero_()
    return losses, x.detach(), x.grad, x.is_leaf


@twice
def test_gradient_of_a_leaf_that_is_also_the_output(torch: Any) -> Any:
    x = vector(torch, 1.0, 2.0)
    x.backward(torch.ones(2).double())
    x.sum().backward()
    return x.grad


@twice
def test_gradients_keep_the_layout_of_the_leaf(torch: Any) -> Any:
    base = torch.arange(6.0).reshape(2, 3)
    x = base.t().detach().requires_grad_()
    (x * 2).sum().backward()
    return x.grad, x.grad.is_contiguous(), x.grad.stride()


# ---------------------------------------------------------------- writes and views


@twice
def test_in_place_on_a_used_tensor_that_is_not_saved(torch: Any) -> Any:
    x = vector(torch, 1.0, 2.0)
    y = x * 1
    z = y + 1
    y.mul_(2)
    (z + y).sum().backward()
    return x.grad


@twice
def test_chunks_cannot_be_written_to(torch: Any) -> Any:
    x = vector(torch, 1.0, 2.0)
    y = x * 1
    a, _ = y.unbind()
    b, _ = y.split(1)
    return raised(a.mul_, 2, words=6), raised(b.mul_, 2, words=6)


@twice
def test_view_and_base_stay_in_step(torch: Any) -> Any:
    x = vector(torch, 1.0, 2.0, 3.0)
    base = x * 1
    head, tail = base[:2], base[1:]
    head.mul_(3)
    tail.add_(head.sum())
    (head * 2 + tail).sum().backward()
    return base, head, tail, x.grad, [t._version for t in (base, head, tail)]


@twice
def test_leaf_written_with_history(torch: Any) -> Any:
    x = vector(torch, 1.0, 2.0)
    target = torch.zeros(2).double()
    target.copy_(x * 3)
    target[0] = x[1]
    target.sum().backward()
    return target.requires_grad, target.is_leaf, x.grad


@twice
def test_leaf_and_view_of_leaf_refuse_writes(torch: Any) -> Any:
    x = vector(torch, 1.0, 2.0)
    return [
        raised(x.add_, 1, words=12),
        raised(x[:1].add_, 1, words=14),
        raised(lambda: x.__setitem__(0, 1), words=12),
        raised(x.view(2, 1).zero_, words=14),
        x._version,
    ]


@twice
def test_writing_an_operand_into_itself(torch: Any) -> Any:
    x = vector(torch, 1.0, 2.0)
    y = x * 1
    y.add_(y)
    y.sum().backward()
    found = [y, x.grad]

    def run(write: Any) -> Any:
        y = x * 1
        write(y)
        return raised(y.sum().backward, words=10)

    found += [
        run(lambda y: y.mul_(y)),
        run(lambda y: y.pow_(y)),
        run(lambda y: y.div_(y)),
        run(lambda y: y.addcmul_(y, y)),
        run(lambda y: y[:1].mul_(y[1:])),
        run(lambda y: y.mul_(y.detach())),
    ]
    return found


@twice
def test_writing_an_operand_into_itself_with_hooks(torch: Any) -> Any:
    x = vector(torch, 1.0, 3.0)
    y = x * 1
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        y.mul_(y)
    y.sum().backward()
    return y, x.grad


@twice
def test_detach_shares_the_version(torch: Any) -> Any:
    x = vector(torch, 1.0) * 1
    d = x.detach()
    d.add_(1)
    return x._version, d._version, x.detach()


@twice
def test_view_of_a_view_has_the_first_base(torch: Any) -> Any:
    x = torch.zeros(2, 3)
    view = x.t()[1:].reshape(-1)[:1]
    nested = x[0][1:]
    return nested._base is x, x._base is None, nested._is_view(), view.shape


@twice
def test_requires_grad_set_on_a_view(torch: Any) -> Any:
    base = torch.zeros(3)
    view = base[:2]
    view.requires_grad_()
    (view * 2).sum().backward()
    return view.is_leaf, view.grad, base.requires_grad


# ---------------------------------------------------------------- copies


@twice
def test_copies(torch: Any) -> Any:
    x = vector(torch, 1.0, 2.0)
    x.grad = torch.ones(2).double()
    deep = copy.deepcopy(x)
    clone = x.clone()
    non_leaf = x * 2
    return [
        deep.requires_grad, deep.is_leaf, deep.grad, deep is x, clone.grad_fn.name(),
        raised(copy.deepcopy, non_leaf, words=5),
    ]  # fmt: skip


@pytest.mark.parametrize("make", ["empty_like", "zeros_like", "ones_like", "rand_like"])
def test_likes_have_no_history(make: str) -> None:
    def scenario(torch: Any) -> Any:
        made = getattr(torch, make)(vector(torch, 1.0) * 2)
        return made.requires_grad, made.is_leaf

    twice(scenario)()


# ---------------------------------------------------------------- functions that cut, or do not


@twice
def test_what_requires_grad(torch: Any) -> Any:
    x = vector(torch, 1.5, 2.5)
    made = {
        "comparison": x > 2,
        "integer": x.long(),
        "argmax": x.argmax(),
        "round": x.round(),
        "sign": x.sign(),
        "floor": x.floor(),
        "double": x.float(),
        "isnan": torch.isnan(x),
        "shape": torch.tensor(list(x.shape)),
        "where": torch.where(x > 2, 1.0, 0.0),
        "indices": x.sort()[1],
        "values": x.sort()[0],
        "one_hot": torch.nn.functional.one_hot(x.argmax(), 3),
        "full_like": torch.full_like(x, 2.0),
        "bool index": x[x > 2],
        "clamp": x.clamp(0, 2),
        "detach": x.detach(),
        "new": x.new_zeros(2),
        "mask": (x > 2) * x,
    }
    return {
        name: (t.requires_grad, None if t.grad_fn is None else t.grad_fn.name())
        for name, t in made.items()
    }


@twice
def test_batched_gradients_with_a_graph(torch: Any) -> Any:
    x = vector(torch, 1.0, 2.0)
    rows = torch.eye(2).double()
    (g,) = torch.autograd.grad(x**3, x, rows, is_grads_batched=True, create_graph=True)
    (second,) = torch.autograd.grad(g.sum(), x)
    return g.detach(), g.requires_grad, second


@twice
def test_variable_is_an_old_name(torch: Any) -> Any:
    Variable = torch.autograd.Variable
    t = torch.ones(2)
    v = Variable(t, requires_grad=True)
    hidden = Variable(v * 2)
    return [
        isinstance(t, Variable), isinstance(3, Variable), v is t, v.requires_grad, t.requires_grad,
        hidden.requires_grad, hidden.is_leaf,
    ]  # fmt: skip


@twice
def test_views_that_a_function_returns_have_its_history(lib):
    """Made without a graph of their own: what is computed or viewed of them still has one."""

    class Halves(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x[:2], x[2:]

        @staticmethod
        def backward(ctx, *grads):
            return lib.cat(grads)

    seen = []
    for use in (lambda y: y, lambda y: y[0], lambda y: y.view(1, 2), lambda y: y.detach() + y):
        x = lib.arange(1.0, 5.0).requires_grad_()
        y = use(Halves.apply(x)[1])
        (g,) = lib.autograd.grad((y * y * y).sum(), x, create_graph=True)
        (h,) = lib.autograd.grad(g.sum(), x)
        seen += [g.detach(), h, y.requires_grad, y.output_nr]
    return seen
