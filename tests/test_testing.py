"""`clew.testing.assert_close` says what torch's says, and `check_op` finds wrong gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import clew

NAN = float("nan")
CALLS: list[Callable[[Any, Any], None]] = [
    lambda t, check: check(t.tensor([1.0, 2.0]), t.tensor([1.0, 2.1])),
    lambda t, check: check(t.tensor([[1.0, 2], [3, 4]]), t.tensor([[1.0, 2.1], [3.5, 4]])),
    lambda t, check: check(t.tensor(1.0), t.tensor(1.1)),
    lambda t, check: check(1.0, 1.1),
    lambda t, check: check(1, 2),
    lambda t, check: check(1.0, 2),
    lambda t, check: check(1.0, 1.0 + 1e-9),
    lambda t, check: check(t.tensor([1, 2]), t.tensor([1, 3])),
    lambda t, check: check(t.tensor([1.0]), t.tensor([1.0], dtype=t.float64)),
    lambda t, check: check(t.tensor([1.0]), t.tensor([1.0], dtype=t.float64), check_dtype=False),
    lambda t, check: check(t.tensor([1.0]), t.tensor([1.0, 2.0])),
    lambda t, check: check({"a": t.tensor([1.0])}, {"a": t.tensor([2.0])}),
    lambda t, check: check({"a": [1, (2, 3)]}, {"a": [1, (2, 4)]}),
    lambda t, check: check([t.tensor([1.0])], [t.tensor([2.0]), 3]),
    lambda t, check: check({"a": 1}, {"b": 1}),
    lambda t, check: check(t.tensor([NAN]), t.tensor([NAN])),
    lambda t, check: check(t.tensor([NAN]), t.tensor([NAN]), equal_nan=True),
    lambda t, check: check(t.tensor([True]), t.tensor([False])),
    lambda t, check: check("a", "a"),
    lambda t, check: check(None, None),
    lambda t, check: check(t.tensor([1.0]), [1.0]),
    lambda t, check: check(t.tensor([1.0]), t.tensor([1.5]), rtol=0.1, atol=0),
    lambda t, check: check(t.tensor([1.0]), t.tensor([1.5]), rtol=0.5, atol=0),
    lambda t, check: check(t.tensor([1.0]), t.tensor([1.5]), rtol=0.1),
    lambda t, check: check(t.tensor([1.0]), t.tensor([1.5]), msg="own words"),
    lambda t, check: check(t.tensor([1.0]), t.tensor([1.5]), msg=lambda text: "see: " + text),
    lambda t, check: check(t.ones(2, 3), t.ones(3, 2).t(), check_stride=True),
    lambda t, check: check(t.ones(2, dtype=t.bfloat16), t.ones(2, dtype=t.bfloat16) * 1.01),
]


def outcome(module: Any, call: Callable[[Any, Any], None]) -> str:
    try:
        call(module, module.testing.assert_close)
    except (AssertionError, TypeError, ValueError) as error:
        text = str(error).replace("clew.core.tensor.Tensor", "torch.Tensor")
        return f"{type(error).__name__}: {text}"
    return "passed"


@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
def test_assert_close_agrees_with_torch(call: Callable[[Any, Any], None]) -> None:
    assert outcome(clew, call) == outcome(torch, call)


def test_assert_allclose_ignores_dtype() -> None:
    clew.testing.assert_allclose(clew.tensor([1.0]), clew.tensor([1.0], dtype=clew.float64))
    with pytest.raises(AssertionError, match="not close"):
        clew.testing.assert_allclose(clew.tensor([1.0]), [1.1])


class WrongGradient(clew.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: clew.Tensor) -> clew.Tensor:
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx: Any, g: clew.Tensor) -> clew.Tensor:
        return g * ctx.saved_tensors[0].sin()


def test_check_op_accepts_a_right_function_and_refuses_a_wrong_one() -> None:
    x = clew.tensor([0.3, 1.2], dtype=clew.float64, requires_grad=True)
    clew.testing.check_op(lambda x: (x.sin() * x).exp(), [x])
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        clew.testing.check_op(WrongGradient.apply, [x])


def test_check_op_notices_a_changed_input() -> None:
    x = clew.tensor([0.3, 1.2], dtype=clew.float64, requires_grad=True)
    constant = clew.ones(2, dtype=clew.float64)

    def careless(x: clew.Tensor, constant: clew.Tensor) -> clew.Tensor:
        result = x * 2
        constant.mul_(2)
        return result

    with pytest.raises(AssertionError, match="changed its input 1"):
        clew.testing.check_op(careless, [x, constant], second_order=False)


class Square(clew.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: clew.Tensor) -> clew.Tensor:
        return x * x

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, g: clew.Tensor) -> clew.Tensor:
        return g * 2 * ctx.saved_tensors[0]


class WrongInVmap(Square):
    generate_vmap_rule = False

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: clew.Tensor) -> Any:
        return WrongInVmap.apply(x * 2), in_dims[0]


class WrongWithGaps(Square):
    @staticmethod
    def backward(ctx: Any, g: clew.Tensor) -> clew.Tensor:
        return g * 2 * ctx.saved_tensors[0] * (1 if ctx.saved_tensors[0].is_contiguous() else 2)


class WrongSecond(Square):
    @staticmethod
    def backward(ctx: Any, g: clew.Tensor) -> clew.Tensor:
        return g * 2 * ctx.saved_tensors[0].detach()


def test_check_op_takes_a_custom_function() -> None:
    x = clew.tensor([0.3, 1.2], dtype=clew.float64, requires_grad=True)
    clew.testing.check_op(Square, [x])
    clew.testing.check_op(Square.apply, [x])
    clew.testing.check_op(WrongSecond, [x], second_order=False)
    for wrong, text in ((WrongWithGaps, "Jacobian"), (WrongSecond, "Jacobian")):
        with pytest.raises(RuntimeError, match=text):
            clew.testing.check_op(wrong, [x])
    with pytest.raises(AssertionError, match="under vmap the function gives other values"):
        clew.testing.check_op(WrongInVmap, [x])
