"""`autograd.Function`: the context's methods, all kinds of arguments and outputs."""

from __future__ import annotations

from typing import Any

import pytest

import clew
from tests.custom_functions import cube
from tests.twice import leaf, raised, twice

# ---------------------------------------------------------------- the plain case


@twice
def test_forward_and_backward(torch: Any) -> Any:
    Cube = cube(torch)
    x = leaf(torch, [1.0, 2.0])
    y = Cube.apply(x)
    (y * 2).sum().backward()
    node = y.grad_fn
    return y, x.grad, node.name(), type(node).__name__, y.is_leaf, node.next_functions[0][0].name()


@twice
def test_higher_orders(torch: Any) -> Any:
    Cube = cube(torch)
    x = leaf(torch, [1.0, 2.0])
    (g,) = torch.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
    (gg,) = torch.autograd.grad(g.sum(), x, create_graph=True)
    (ggg,) = torch.autograd.grad(gg.sum(), x)
    return g.detach(), gg.detach(), ggg


@twice
def test_nothing_recorded_without_grad(torch: Any) -> Any:
    Cube = cube(torch)
    plain = Cube.apply(torch.ones(2))
    with torch.no_grad():
        quiet = Cube.apply(leaf(torch, [2.0]))
    return plain, quiet, plain.grad_fn is None


@twice
def test_grad_mode_inside(torch: Any) -> Any:
    seen = []

    class Look(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            seen.append(("forward", torch.is_grad_enabled(), x.requires_grad))
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.append(("backward", torch.is_grad_enabled(), g.requires_grad))
            return g * 2

    x = leaf(torch, [1.0])
    Look.apply(x).backward()
    torch.autograd.grad(Look.apply(x), x, create_graph=True)
    return seen


@twice
def test_enable_grad_inside_forward(torch: Any) -> Any:
    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            with torch.enable_grad():
                copy = x.detach().requires_grad_()
                out = (copy**2).sum()
            (ctx.inner,) = torch.autograd.grad(out, copy)
            return out.detach()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.inner

    x = leaf(torch, [1.0, 2.0])
    Inner.apply(x).backward()
    return x.grad


# ---------------------------------------------------------------- arguments and outputs


@twice
def test_non_tensor_arguments(torch: Any) -> Any:
    seen = []

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, factor: float, names: Any, w: Any, nothing: Any) -> Any:
            ctx.factor, ctx.names = factor, names
            ctx.save_for_backward(x, w)
            return x * factor * w

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, w = ctx.saved_tensors
            seen.append(ctx.needs_input_grad)
            return g * ctx.factor * w, None, None, g * ctx.factor * x, None

    x, w = leaf(torch, [1.0, 2.0]), torch.tensor([3.0, 4.0], dtype=torch.float64)
    Scale.apply(x, 2.0, {"a": 1}, w, None).sum().backward()
    Scale.apply(x, 2.0, [x], w.requires_grad_(), None).sum().backward()
    return x.grad, w.grad, seen


@twice
def test_several_outputs(torch: Any) -> Any:
    seen = []

    class Split(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2, "text", x * 3, None

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            seen.append([g if g is None else g.clone() for g in grads])
            return grads[0] * 2 + grads[2] * 3

    x = leaf(torch, [1.0, 2.0])
    a, text, b, nothing = Split.apply(x)
    (b * b).sum().backward()
    return text, nothing, a.output_nr, b.output_nr, x.grad, seen[0][0], seen[0][2]


@twice
def test_returns_its_input(torch: Any) -> Any:
    class Identity(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 10

    x = leaf(torch, [1.0, 2.0])
    y = Identity.apply(x)
    z = x * 1
    w = Identity.apply(z)
    (y.sum() + w.sum()).backward()
    return y is x, w is z, y.is_leaf, x.is_leaf, x.grad, y.detach()


@twice
def test_returns_a_view_of_its_input(torch: Any) -> Any:
    class First(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.shape = x.shape
            return x[:1]

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            full = torch.zeros(ctx.shape, dtype=torch.float64)
            full[:1] = g
            return full

    x = leaf(torch, [1.0, 2.0])
    y = First.apply(x)
    (y * 5).sum().backward()
    return y.detach(), x.grad


@twice
def test_integer_and_marked_outputs(torch: Any) -> Any:
    class Sorted(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            values, places = x.sort()
            floor = x.floor()
            ctx.mark_non_differentiable(places, floor)
            ctx.save_for_backward(places)
            return values, places, floor

        @staticmethod
        def backward(ctx: Any, g: Any, g_places: Any, g_floor: Any) -> Any:
            (places,) = ctx.saved_tensors
            return torch.zeros_like(g).scatter(0, places, g) + g_floor

    x = leaf(torch, [3.0, 1.0, 2.0])
    values, places, floor = Sorted.apply(x)
    (values * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    return [(t.requires_grad, t.is_leaf) for t in (values, places, floor)], x.grad


@twice
def test_absent_gradients(torch: Any) -> Any:
    seen = []

    def two(materialize: bool) -> Any:
        class Two(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.set_materialize_grads(materialize)
                return x * 2, x * 3

            @staticmethod
            def backward(ctx: Any, a: Any, b: Any) -> Any:
                seen.append((a is None, b is None, None if b is None else b.clone()))
                return a * 2

        return Two

    x = leaf(torch, [1.0, 2.0])
    for materialize in (True, False):
        two(materialize).apply(x)[0].sum().backward()
    return seen, x.grad


@twice
def test_none_gradient(torch: Any) -> Any:
    class Nothing(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, w: Any) -> Any:
            return x * w

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g, None

    x, w = leaf(torch, [1.0]), leaf(torch, [2.0])
    Nothing.apply(x, w).backward()
    return x.grad, w.grad


@twice
def test_gradient_is_summed_to_the_shape_of_the_input(torch: Any) -> Any:
    class Add(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, row: Any) -> Any:
            return x + row

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g, g

    x, row = leaf(torch, [[1.0, 2.0], [3.0, 4.0]]), leaf(torch, [1.0, 2.0])
    Add.apply(x, row).sum().backward()
    return x.grad, row.grad


# ---------------------------------------------------------------- saving


@twice
def test_saving_inputs_outputs_and_none(torch: Any) -> Any:
    class Keep(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            out = x.exp()
            ctx.save_for_backward(x, None, out)
            ctx.note = "attribute"
            return out

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            _, nothing, out = ctx.saved_tensors
            assert nothing is None and ctx.note == "attribute"
            return g * out

    x = leaf(torch, [1.0, 2.0])
    y = Keep.apply(x)
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
    kept = y.grad_fn.saved_tensors
    y.sum().backward()
    return [
        first.detach(), second.detach(), [None if t is None else t.detach() for t in kept],
        kept[0] is x, raised(lambda: y.grad_fn.saved_tensors, words=10),
        raised(y.sum().backward, words=10),
    ]  # fmt: skip


@twice
def test_saving_something_else_raises(torch: Any) -> Any:
    class Bad(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x, 3)
            return x * 2

    return raised(Bad.apply, leaf(torch, [1.0]), words=5)


@twice
def test_overwritten_saved_tensor(torch: Any) -> Any:
    Cube = cube(torch)
    x = leaf(torch, [1.0, 2.0]) * 1
    y = Cube.apply(x)
    x.mul_(2)
    return raised(y.sum().backward, words=13)


@twice
def test_saved_tensors_hooks_apply(torch: Any) -> Any:
    log: list[str] = []
    Cube = cube(torch)
    x = leaf(torch, [2.0])

    def pack(t: Any) -> Any:
        log.append("pack")
        return t * 1

    def unpack(t: Any) -> Any:
        log.append("unpack")
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = Cube.apply(x)
    y.backward()
    return log, x.grad


# ---------------------------------------------------------------- writing in place


def doubler(torch: Any) -> Any:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    return Double


@twice
def test_mark_dirty(torch: Any) -> Any:
    Double = doubler(torch)
    x = leaf(torch, [1.0, 2.0])
    y = x * 1
    z = Double.apply(y)
    (z * 3).sum().backward()
    return z is y, y.grad_fn.name(), y.detach(), x.grad, y._version


@twice
def test_mark_dirty_on_a_leaf(torch: Any) -> Any:
    return raised(doubler(torch).apply, leaf(torch, [1.0, 2.0]), words=12)


@twice
def test_mark_dirty_on_a_view(torch: Any) -> Any:
    Double = doubler(torch)
    x = leaf(torch, [1.0, 2.0, 3.0])
    base = x * 1
    part = base[1:]
    out = Double.apply(part)
    (base * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    return base.detach(), x.grad, base.grad_fn.name(), out is part


@twice
def test_mark_dirty_on_a_tensor_without_history(torch: Any) -> Any:
    class AddInto(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, target: Any, x: Any) -> Any:
            target.add_(x)
            ctx.mark_dirty(target)
            return target

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g, g

    x, target = leaf(torch, [1.0, 2.0]), torch.zeros(2, dtype=torch.float64)
    out = AddInto.apply(target, x)
    (out * 4).sum().backward()
    return out is target, target.requires_grad, target.is_leaf, x.grad


@twice
def test_dirty_tensor_must_be_returned(torch: Any) -> Any:
    class Forgets(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            x.mul_(2)
            ctx.mark_dirty(x)
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    return raised(Forgets.apply, leaf(torch, [1.0]) * 1, words=8)


# ---------------------------------------------------------------- setup_context, jvp, vmap


@twice
def test_setup_context(torch: Any) -> Any:
    seen = []

    class Mul(torch.autograd.Function):
        @staticmethod
        def forward(x: Any, w: Any, scale: float = 1.0) -> Any:
            return x * w * scale, x.sum()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            x, w, scale = inputs
            seen.append((len(inputs), len(output)))
            ctx.save_for_backward(x, w)
            ctx.scale = scale

        @staticmethod
        def backward(ctx: Any, g: Any, g_sum: Any) -> Any:
            x, w = ctx.saved_tensors
            return g * w * ctx.scale + g_sum, g * x * ctx.scale, None

    x, w = leaf(torch, [1.0, 2.0]), leaf(torch, [3.0, 4.0])
    product, total = Mul.apply(x, w, 5.0)
    (product.sum() + total).backward()
    return product, total, x.grad, w.grad, seen


@twice
def test_forward_mode(torch: Any) -> Any:
    fwad = torch.autograd.forward_ad

    class Mul(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, w: Any) -> Any:
            ctx.save_for_backward(x, w)
            ctx.save_for_forward(x, w)
            return x * w

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, w = ctx.saved_tensors
            return g * w, g * x

        @staticmethod
        def jvp(ctx: Any, x_t: Any, w_t: Any) -> Any:
            x, w = ctx.saved_tensors
            return x_t * w + x * w_t

    class NoJvp(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

    x, w = leaf(torch, [1.0, 2.0]), leaf(torch, [3.0, 4.0])
    with fwad.dual_level():
        dual = fwad.make_dual(x, torch.ones(2).double())
        out = fwad.unpack_dual(Mul.apply(dual, w))
        missing = raised(NoJvp.apply, dual, words=6)
    return out.primal.detach(), out.tangent.detach(), missing


@pytest.mark.parametrize("name", ["FunctionCtx", "once_differentiable", "Function"])
def test_names_in_the_function_module(name: str) -> None:
    assert hasattr(clew.autograd.function, name)
