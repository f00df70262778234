"""Comparing results in tests: `clew.testing.assert_close`, and checks for new operations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.autograd.function import Function
from clew.autograd.gradcheck import gradcheck, gradgradcheck
from clew.backend import dtypes
from clew.core.tensor import Tensor
from clew.func.batching import vmap
from clew.ops.create.constants import empty
from clew.ops.create.random import randint
from clew.ops.pointwise.complex import view_as_real
from clew.ops.shape.joining import stack

__all__ = ["assert_allclose", "assert_close", "check_op", "make_tensor"]

Message = str | Callable[[str], str] | None

# (rtol, atol) by dtype; what is not listed must be equal.
_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}


class _Rules:
    """How strictly to compare."""

    def __init__(
        self, rtol: float | None, atol: float | None, equal_nan: bool, check_dtype: bool,
        check_stride: bool, allow_subclasses: bool,
    ) -> None:  # fmt: skip
        if (rtol is None) != (atol is None):
            missing = "rtol" if rtol is None else "atol"
            raise ValueError(
                f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}."
            )
        self.rtol, self.atol = rtol, atol
        self.equal_nan, self.check_dtype = equal_nan, check_dtype
        self.check_stride, self.allow_subclasses = check_stride, allow_subclasses

    def tolerances(self, *names: str) -> tuple[float, float]:
        """The widest of the default tolerances, unless the caller gave some."""
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        pairs = [_TOLERANCES.get(name, (0.0, 0.0)) for name in names]
        return max(rtol for rtol, _ in pairs), max(atol for _, atol in pairs)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Message = None,
) -> None:
    """Raise AssertionError unless two tensors, numbers, or containers of these are close.

    Close means `|actual - expected| <= atol + rtol * |expected|`.

    Args:
        actual: what was computed
        expected: what it should be
        allow_subclasses: whether types may differ if one derives from the other
        rtol: the relative tolerance; by default, that of the dtype (1.3e-6 for float32)
        atol: the absolute tolerance; by default, that of the dtype (1e-5 for float32)
        equal_nan: whether NaN is close to NaN
        check_device: accepted; there is one device
        check_dtype: whether dtypes must be the same
        check_layout: accepted; there is one layout
        check_stride: whether strides must be the same
        msg: a message instead of the one made here, or a function that changes that

    Example:
        >>> clew.testing.assert_close(clew.tensor([1., 2.]), clew.tensor([1., 2.000001]))
        >>> clew.testing.assert_close(clew.tensor(1.), clew.tensor(1.1))
        Traceback (most recent call last):
        ...
        AssertionError: Scalars are not close!
        ...
    """
    rules = _Rules(rtol, atol, equal_nan, check_dtype, check_stride, allow_subclasses)
    failure = _difference(actual, expected, rules, path="")
    if failure is not None:
        raise AssertionError(msg(failure) if callable(msg) else msg or failure)


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """The older name of `assert_close`: dtypes may differ, and NaN equals NaN.

    Args:
        actual, expected: a tensor, and a tensor or numbers
        rtol, atol, equal_nan, msg: as in `assert_close`

    Example:
        >>> clew.testing.assert_allclose(clew.tensor([1., 2.]), [1, 2])
    """
    as_tensor = expected if isinstance(expected, Tensor) else actual.new_tensor(expected)
    assert_close(
        actual, as_tensor, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False,
        msg=msg or None,
    )  # fmt: skip


def _difference(actual: Any, expected: Any, rules: _Rules, path: str) -> str | None:
    """What differs, in words; None if nothing does."""
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        return _mapping_difference(actual, expected, rules, path)
    if _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            return f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
        pairs = ((f"{path}[{i}]", a, e) for i, (a, e) in enumerate(zip(actual, expected)))
        return next((d for where, a, e in pairs if (d := _difference(a, e, rules, where))), None)
    failure = _leaf_difference(actual, expected, rules)
    if failure is not None and path:
        failure += f"\n\nThe failure occurred for item {path}"
    return failure


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _mapping_difference(
    actual: Mapping[Any, Any], expected: Mapping[Any, Any], rules: _Rules, path: str
) -> str | None:
    if actual.keys() != expected.keys():
        missing = sorted(expected.keys() - actual.keys())
        additional = sorted(actual.keys() - expected.keys())
        return (
            "The keys of the mappings do not match:\n"
            f"Missing keys in the actual mapping: {missing}\n"
            f"Additional keys in the actual mapping: {additional}"
        )
    pairs = ((f"{path}[{key!r}]", actual[key], expected[key]) for key in expected)
    return next((d for where, a, e in pairs if (d := _difference(a, e, rules, where))), None)


def _leaf_difference(actual: Any, expected: Any, rules: _Rules) -> str | None:
    if actual is None and expected is None:
        return None
    actual, expected = (bool(v) if isinstance(v, np.bool_) else v for v in (actual, expected))
    numbers = (bool, int, float, complex, np.number)
    if isinstance(actual, numbers) and isinstance(expected, numbers):
        if rules.check_dtype and type(actual) is not type(expected):
            return f"The (d)types do not match: {type(actual)} != {type(expected)}."
        name = dtypes.scalar_dtype(expected).name  # type: ignore[arg-type]  # NumPy's numbers too
        # Python floats are double precision, whatever the default dtype is.
        name = {"float32": "float64", "complex64": "complex128"}.get(name, name)
        return _number_difference(actual, expected, rules, rules.tolerances(name))
    tensors = isinstance(actual, Tensor) and isinstance(expected, Tensor)
    if not tensors or not (rules.allow_subclasses or type(actual) is type(expected)):
        raise TypeError(
            f"No comparison pair was able to handle inputs of type {type(actual)} and "
            f"{type(expected)}."
        )
    return _attribute_difference(actual, expected, rules) or _value_difference(
        actual, expected, rules
    )


def _attribute_difference(actual: Tensor, expected: Tensor, rules: _Rules) -> str | None:
    checks: list[tuple[str, Any, Any]] = [("shape", actual.shape, expected.shape)]
    if rules.check_dtype:
        checks.append(("dtype", actual.dtype, expected.dtype))
    if rules.check_stride:
        checks.append(("stride()", actual.stride(), expected.stride()))
    for name, ours, theirs in checks:
        if ours != theirs:
            return f"The values for attribute '{name}' do not match: {ours} != {theirs}."
    return None


def _value_difference(actual: Tensor, expected: Tensor, rules: _Rules) -> str | None:
    rtol, atol = rules.tolerances(actual.dtype.name, expected.dtype.name)
    a, e = _comparable(actual._array), _comparable(expected._array)
    close = np.isclose(a, e, rtol=rtol, atol=atol, equal_nan=rules.equal_nan)
    if close.all():
        return None
    if not a.ndim:
        return _number_difference(a.item(), e.item(), rules, (rtol, atol))
    gap = np.abs(a - e)
    # As a tensor's division has it: integers give the default float.
    relative = np.asarray(gap / np.abs(e))
    if gap.dtype.kind == "i":
        relative = relative.astype(dtypes.get_default_dtype().np)
    shown = np.where(close, -1.0, gap), np.where(close, -1.0, relative)
    places = [np.unravel_index(int(np.argmax(values)), values.shape) for values in shown]
    return (
        f"Tensor-likes are not {'close' if rtol or atol else 'equal'}!\n\n"
        f"Mismatched elements: {int((~close).sum())} / {close.size} "
        f"({(~close).mean():.1%})\n"
        f"Greatest absolute difference: {gap[places[0]]} at index {_place(places[0])}"
        f"{_allowed(atol, rtol or atol)}\n"
        f"Greatest relative difference: {relative[places[1]]} at index {_place(places[1])}"
        f"{_allowed(rtol, rtol or atol)}"
    )


def _comparable(array: np.ndarray) -> np.ndarray:
    """bool and half-precision arrays in a type that can be subtracted."""
    if array.dtype in dtypes.LOW_PRECISION:
        return array.astype(np.float32)
    return array.astype(np.int64) if array.dtype.kind in "bu" else array


def _place(index: Any) -> tuple[int, ...]:
    return tuple(int(i) for i in index)


def _allowed(tolerance: float, is_tolerant: float) -> str:
    return f" (up to {tolerance} allowed)" if is_tolerant else ""


def _number_difference(
    actual: Any, expected: Any, rules: _Rules, tolerances: tuple[float, float]
) -> str | None:
    rtol, atol = tolerances
    if np.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=rules.equal_nan):
        return None
    gap = abs(actual - expected)
    relative = float("inf") if expected == 0 else gap / abs(expected)
    return (
        f"Scalars are not {'close' if rtol or atol else 'equal'}!\n\n"
        f"Expected {expected} but got {actual}.\n"
        f"Absolute difference: {gap}{_allowed(atol, rtol or atol)}\n"
        f"Relative difference: {relative}{_allowed(rtol, rtol or atol)}"
    )


def check_op(
    function: Callable[..., Any] | type[Function],
    inputs: Sequence[Any],
    *,
    second_order: bool = True,
) -> None:
    """Put a new operation, or a custom function's class, through what clew's own go through.

    Gradients in reverse and in forward mode against finite differences, also where the inputs'
    memory has gaps; gradients of gradients; `vmap` against a loop; and that the inputs were left
    alone. Of a custom function forward mode and `vmap` are checked if it defines them. Inputs that
    require grad must be float64 or complex128.
    """
    has_jvp = has_vmap = True
    custom = getattr(function, "__self__", function)
    if isinstance(custom, type) and issubclass(custom, Function):
        function = custom.apply
        has_jvp = custom.jvp is not Function.jvp
        has_vmap = custom.generate_vmap_rule or custom.vmap is not Function.vmap
    before = [each._array.copy() if isinstance(each, Tensor) else None for each in inputs]
    for given in (tuple(inputs), tuple(map(_with_gaps, inputs))):
        gradcheck(function, given, check_forward_ad=has_jvp)
    if second_order:
        gradgradcheck(function, tuple(inputs))
    if has_vmap:
        _check_vmap(function, inputs)
    for index, (each, kept) in enumerate(zip(inputs, before, strict=True)):
        if kept is not None and not np.array_equal(each._array, kept, equal_nan=True):
            raise AssertionError(f"the function changed its input {index}")


def _with_gaps(value: Any) -> Any:
    """The same tensor in memory where its elements do not follow each other."""
    if not isinstance(value, Tensor) or not value.ndim:
        return value
    spread = value.detach().repeat_interleave(2, -1)[..., ::2]
    return spread.requires_grad_(value.requires_grad)


def _check_vmap(function: Callable[..., Any], inputs: Sequence[Any]) -> None:
    """Two examples at once must give what they give one after the other."""
    dims = tuple(0 if isinstance(v, Tensor) and v.requires_grad else None for v in inputs)
    pairs = [
        value if dim is None else stack([value.detach(), value.detach() * 0.75])
        for value, dim in zip(inputs, dims, strict=True)
    ]
    batched = vmap(function, in_dims=dims)(*pairs)
    for example in range(2):
        each = [
            value if dim is None else value[example] for value, dim in zip(pairs, dims, strict=True)
        ]
        one = function(*each)
        for got, expected in zip(_as_tuple(batched), _as_tuple(one), strict=True):
            if isinstance(expected, Tensor):
                text = f"under vmap the function gives other values for example {example}: "
                assert_close(got[example], expected, msg=text.__add__)


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, tuple | list) else (value,)


# -- tensors of random numbers ---------------------------------------------------------------------

# Where numbers are drawn from if nothing is said: the lowest, and the first one too high.
_RANGES = {dtypes.BOOL: (0, 2), dtypes.INTEGER: (-9, 10), dtypes.FLOAT: (-9, 9)}


def make_tensor(
    *shape: Any,
    dtype: dtypes.dtype,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of random numbers for a test, from PyTorch's streams for the same seed.

    Args:
        shape: the sizes, as numbers or as one sequence
        dtype: of the elements
        device: where it lies
        low: the lowest number; by default -9, and 0 for bools and unsigned integers
        high: what numbers are below; by default 9, 10 for integers and 2 for bools
        requires_grad: whether autograd records what is done with it
        noncontiguous: whether to leave gaps in its memory
        exclude_zero: replace zeros by the least positive number, or by 1
        memory_format: the order of its dimensions in memory

    Example:
        >>> x = clew.testing.make_tensor(3, 4, dtype=clew.int64, device="cpu", low=0, high=5)
        >>> x.shape, bool((x < 5).all())
        (torch.Size([3, 4]), True)
    """
    sizes = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    _check_requests(dtype, requires_grad, noncontiguous, memory_format)
    low, high = _range_of(dtype, low, high)
    gaps = noncontiguous and math.prod(sizes) > 1
    if gaps:
        sizes = (*sizes[:-1], 2 * sizes[-1])
    if dtype.category <= dtypes.INTEGER:
        result = randint(math.ceil(low), math.ceil(high), sizes, dtype=dtype, device=device)
    else:
        result = empty(sizes, dtype=dtype, device=device)
        (view_as_real(result) if dtype.is_complex else result).uniform_(low, high)
    if gaps:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        least = 1 if dtype.category <= dtypes.INTEGER else dtypes.finfo(dtype).tiny
        result[result == 0] = complex(least, least) if dtype.is_complex else least
    return result.requires_grad_() if requires_grad else result


def _check_requests(
    dtype: dtypes.dtype, requires_grad: bool, noncontiguous: bool, memory_format: Any
) -> None:
    if requires_grad and dtype.category <= dtypes.INTEGER:
        raise ValueError(
            "`requires_grad=True` is not supported for boolean and integral dtypes, but got "
            f"dtype={dtype}" + errors.at_user_line()
        )
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"noncontiguous={noncontiguous} and memory_format={memory_format}"
            + errors.at_user_line()
        )


def _range_of(dtype: dtypes.dtype, low: Any, high: Any) -> tuple[float, float]:
    """What is asked for, as far as the dtype goes."""
    usual = _RANGES[min(dtype.category, dtypes.FLOAT)]
    if dtype.category == dtypes.INTEGER and not dtype.is_signed:
        usual = (0, 10)
    low, high = usual[0] if low is None else low, usual[1] if high is None else high
    if low != low or high != high:
        raise ValueError(
            f"`low` and `high` cannot be NaN, but got low={low} and high={high}"
            + errors.at_user_line()
        )
    least: float
    most: float
    if dtype.category == dtypes.BOOL:
        least, most = 0, 2
    elif dtype.category == dtypes.INTEGER:
        least, most = dtypes.iinfo(dtype).min, dtypes.iinfo(dtype).max + 1
    else:
        least, most = dtypes.finfo(dtype).min, dtypes.finfo(dtype).max
    limited = min(max(low, least), most), min(max(high, least), most)
    if low > high or (limited[0] == limited[1] and dtype.category <= dtypes.INTEGER):
        raise ValueError(
            f"`low` must be less than `high`, but got {low} >= {high}" + errors.at_user_line()
        )
    return limited
