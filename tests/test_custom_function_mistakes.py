"""Mistakes in custom functions: each one raises or warns, and says where."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import clew
from tests.test_custom_function import cube, leaf
from tests.twice import raised, twice

# ---------------------------------------------------------------- mistakes in backward


def returning(torch: Any, result: Any) -> Any:
    class Returns(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, w: Any) -> Any:
            return x * w

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return result(g)

    return Returns


@twice
def test_wrong_gradients(torch: Any) -> Any:
    x, w = leaf(torch, [1.0, 2.0]), leaf(torch, [3.0, 4.0])

    def run(result: Any, second: Any = w) -> Any:
        return raised(returning(torch, result).apply(x, second).sum().backward, words=10)

    return [
        run(lambda g: g),
        run(lambda g: (g, g, g)),
        run(lambda g: (g, g, None)),
        run(lambda g: (g[:1].expand(3), g)),
        run(lambda g: (g, g), second=2.0),
        run(lambda g: (g, None), second=2.0),
    ]


@twice
def test_gradient_of_a_wrong_type(torch: Any) -> Any:
    x, w = leaf(torch, [1.0, 2.0]), leaf(torch, [3.0, 4.0])
    out = returning(torch, lambda g: (g, 3.0)).apply(x, w)
    return raised(out.sum().backward, words=4)


@twice
def test_missing_methods(torch: Any) -> Any:
    class NoForward(torch.autograd.Function):
        pass

    class NoBackward(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

    x = leaf(torch, [1.0])
    return [
        raised(NoForward.apply, x, words=5),
        raised(NoBackward.apply(x).backward, words=8),
        raised(lambda: NoBackward()(x), words=5),
    ]


@twice
def test_once_differentiable(torch: Any) -> Any:
    class Once(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * 2 * x

    x = leaf(torch, [1.0, 2.0])
    Once.apply(x).sum().backward()
    (g,) = torch.autograd.grad(Once.apply(x).sum(), x, create_graph=True)
    return x.grad, g.detach(), g.requires_grad, raised(g.sum().backward, words=8)


@twice
def test_vjp_is_another_name_for_backward(torch: Any) -> Any:
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def vjp(ctx: Any, g: Any) -> Any:
            return g * 2

    class Both(Twice):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    x = leaf(torch, [1.0])
    Twice.apply(x).backward()
    return x.grad, raised(Both.apply(x).backward, words=5)


# ---------------------------------------------------------------- silent mistakes, made loud


def test_undeclared_write_warns() -> None:
    class Writes(clew.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            x.mul_(2)
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    x = clew.ones(2, requires_grad=True) * 1
    with pytest.warns(UserWarning, match=r"without ctx\.mark_dirty"):
        Writes.apply(x)


def test_undeclared_write_that_is_returned_warns() -> None:
    class Writes(clew.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.mul_(2)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    x = clew.ones(2, requires_grad=True) * 1
    with pytest.warns(UserWarning, match=r"mul_.*test_custom_function_mistakes\.py"):
        Writes.apply(x)


def test_saved_intermediate_warns_on_double_backward() -> None:
    class Intermediate(clew.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(2 * x)
            return x**2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (slope,) = ctx.saved_tensors
            return g * slope

    x = clew.ones(2, requires_grad=True)
    (g,) = clew.autograd.grad(Intermediate.apply(x).sum(), x)
    assert g.tolist() == [2.0, 2.0]
    with pytest.warns(UserWarning, match="neither an input nor an output"):
        clew.autograd.grad(Intermediate.apply(x).sum(), x, create_graph=True)


def test_tensor_kept_as_attribute_warns_on_double_backward() -> None:
    class Attribute(clew.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.slope = 2 * x
            return x**2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.slope

    x = clew.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match=r"slope.*save_for_backward"):
        clew.autograd.grad(Attribute.apply(x).sum(), x, create_graph=True)


def test_written_gradient_warns() -> None:
    class Writes(clew.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g.mul_(2)

    x, w = leaf(clew, [1.0]), leaf(clew, [1.0])
    out = Writes.apply(x) + w
    with pytest.warns(UserWarning, match=r"wrote to the gradient.*`mul_`.*test_custom_function"):
        out.backward()


def test_list_of_outputs_warns() -> None:
    class Many(clew.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return [x * 2, x * 3]

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return grads[0] * 2 + grads[1] * 3

    with pytest.warns(UserWarning, match="returned a list of tensors"):
        Many.apply(leaf(clew, [1.0]))


def test_random_mask_does_not_warn() -> None:
    class Mask(clew.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            mask = clew.rand(2)
            ctx.save_for_backward(mask)
            ctx.scale = clew.ones(2)
            return x * mask

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.saved_tensors[0] * ctx.scale

    x = clew.ones(2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clew.autograd.grad(Mask.apply(x).sum(), x, create_graph=True)


def test_graph_built_by_enable_grad_in_backward_is_kept() -> None:
    Cube = cube(clew)
    x = leaf(clew, [2.0])
    assert clew.autograd.gradcheck(Cube.apply, (x,))
    assert clew.autograd.gradgradcheck(Cube.apply, (x,))


def test_wrong_number_of_gradients_names_the_line() -> None:
    x, w = leaf(clew, [1.0]), leaf(clew, [2.0])
    out = returning(clew, lambda g: g).apply(x, w)
    with pytest.raises(
        RuntimeError, match=r"incorrect number.*\n.*test_custom_function_mistakes\.py:\d+"
    ):
        out.backward()
