"""The harness itself: translation keeps what it promises, and comparison notices differences."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import clew

from . import oracle
from .derivatives import check_grad, check_gradgrad, check_jvp
from .tensors import short_name, to_torch

DTYPES = (
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.complex64,
    torch.complex128,
)


@pytest.mark.parametrize("dtype", DTYPES, ids=short_name)
def test_translation_keeps_dtype_values_and_strides(dtype: torch.dtype) -> None:
    original = torch.arange(24).reshape(2, 3, 4).to(dtype)[:, ::2].transpose(0, 2)
    ours = oracle.to_clew(original)
    assert str(ours.dtype) == str(dtype)
    assert tuple(ours.stride()) == original.stride()
    oracle.assert_same(ours, original)
    assert torch.equal(to_torch(ours), original)


def test_translation_keeps_expanded_strides_and_requires_grad() -> None:
    original = torch.rand(1, 3).expand(4, 3).detach().requires_grad_()
    ours = oracle.to_clew(original)
    assert tuple(ours.stride()) == (0, 1)
    assert ours.requires_grad
    assert ours.is_leaf


def test_translation_keeps_identity_and_shared_memory() -> None:
    base = torch.zeros(4)
    first, again, tail = oracle.to_clew([base, base, base[2:]])
    assert first is again
    first.fill_(1.0)
    assert tail.tolist() == [1.0, 1.0]
    assert base.tolist() == [0.0] * 4


def test_translation_of_other_values() -> None:
    value = (torch.float16, slice(0, 2), {"dim": [1, None]}, ..., 2.5, "mean", torch.Size([2, 3]))
    dtype, part, options, dots, number, text, size = oracle.to_clew(value)
    assert dtype is clew.float16
    assert (part, options, dots, number, text) == value[1:6]
    assert tuple(size) == (2, 3)
    with pytest.raises(oracle.Untranslatable):
        oracle.to_clew(torch.nn.Linear(1, 1))


def test_counterpart_of_functions_methods_and_code_that_calls_them() -> None:
    assert oracle.counterpart(torch.add) is clew.add
    assert oracle.counterpart(torch.Tensor.add) is clew.Tensor.add
    scale = torch.tensor(3.0)
    ours = oracle.counterpart(lambda x: torch.mul(x, scale))(oracle.to_clew(torch.ones(2)))
    assert isinstance(ours, clew.Tensor)
    assert ours.tolist() == [3.0, 3.0]
    with pytest.raises(oracle.Missing):
        oracle.find("no_such_operation")


def _float(*values: float, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype)


@pytest.mark.parametrize(
    ("ours", "theirs", "complaint"),
    [
        (_float(1.0, 2.0), _float(1.0, 2.1), "1 of 2 values differ"),
        (_float(1.0), _float(float("nan")), "values differ"),
        (_float(1.0), _float(float("inf")), "values differ"),
        (_float(1.0, 2.0), _float(1.0), "shape"),
        (_float(1.0), _float(1.0, dtype=torch.float64), "dtype"),
        (_float(1.0), _float(1.0).requires_grad_(), "requires_grad"),
        ([_float(1.0)], [_float(1.0), _float(1.0)], "1 items"),
        ({"a": _float(1.0)}, {"a": _float(2.0)}, "'a'"),
        (1, True, "type int"),
        (1.0, 1.5, "1.0 but torch has 1.5"),
        (torch.tensor([3]), torch.tensor([4]), "values differ"),
        (torch.tensor([1 + 1j]), torch.tensor([1 - 1j]), "values differ"),
    ],
)
def test_comparison_notices(ours: Any, theirs: Any, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        oracle.assert_same(oracle.to_clew(ours), theirs)


def test_comparison_takes_equal_nans_and_rounding() -> None:
    theirs = _float(float("nan"), float("inf"), 1.0)
    oracle.assert_same(oracle.to_clew(theirs * (1 + 1e-7)), theirs)


def test_comparison_asks_for_torch_field_names() -> None:
    theirs = torch.max(torch.eye(2), 0)
    with pytest.raises(AssertionError, match="no field 'values'"):
        oracle.assert_same(tuple(oracle.to_clew(list(theirs))), theirs)


def test_errors_are_compared_by_type_and_leading_words() -> None:
    theirs = RuntimeError("The size of tensor a (3) must match")
    oracle.assert_same_error(RuntimeError("The size of tensor b differs"), theirs, words=4)
    oracle.assert_same_error(NotImplementedError("anything"), theirs)
    with pytest.raises(AssertionError, match="nothing raised"):
        oracle.assert_same_error(None, theirs)
    with pytest.raises(AssertionError, match="ValueError"):
        oracle.assert_same_error(ValueError("The size of tensor a"), theirs)
    with pytest.raises(AssertionError, match="message begins"):
        oracle.assert_same_error(RuntimeError("Sizes differ"), theirs, words=2)


@pytest.mark.parametrize("check", [check_grad, check_gradgrad, check_jvp])
def test_derivative_checks_notice_another_function(check: Any) -> None:
    args = (torch.linspace(0.1, 1.0, 5, dtype=torch.float64, requires_grad=check is not check_jvp),)
    check(clew.exp, torch.exp, args, {})
    with pytest.raises(AssertionError, match="values differ"):
        check(clew.sin, torch.exp, args, {})


def test_an_absent_gradient_is_not_a_zero_one() -> None:
    x, y = (torch.ones(2, dtype=torch.float64, requires_grad=True) for _ in range(2))
    with pytest.raises(AssertionError, match="a gradient but torch has no gradient"):
        check_grad(lambda x, y: x + 0 * y, lambda x, y: x * 1, (x, y), {})


def test_an_exception_of_clew_alone_is_passed_on() -> None:
    def refuse(_x: Any) -> Any:
        raise ValueError("not today")

    with pytest.raises(ValueError, match="not today"):
        check_grad(refuse, torch.exp, (torch.ones(2, requires_grad=True),), {})
