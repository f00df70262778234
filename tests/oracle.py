"""Translation between PyTorch (the oracle) and clew, and comparison of their results.

`to_clew(value)` turns a nested structure of torch values into the same structure of clew values:
same dtype, same strides, same `requires_grad`, and the same tensor wherever one occurs twice.
`counterpart(function)` finds what clew has in place of a torch function.
`assert_same(clew_result, torch_result)` compares two nested results and names the first difference.
"""

from __future__ import annotations

import cmath
import dataclasses
import functools
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

import clew
from tests.tensors import Array, is_inexact, short_name, sparse_parts, tensors_in, to_numpy

TOLERANCES: dict[str, tuple[float, float]] = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}
"""(rtol, atol) per dtype name; what is not listed is compared exactly."""

MAX_DIMS = 64

_NAMESPACES = (
    "",
    "nn.functional",
    "linalg",
    "fft",
    "special",
    "signal.windows",
    "nn.utils.rnn",
    "masked",
    "sparse",
    "Tensor",
)


class Missing(Exception):
    """clew has nothing under the name that torch has."""


class Untranslatable(Exception):
    """A torch value has no clew form (a torch module object, for example)."""


# ---------------------------------------------------------------- names


def lookup(root: Any, dotted: str) -> Any:
    """The attribute at a dotted path; raises Missing where the path ends early."""
    value = root
    for part in dotted.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            raise Missing(f"{dotted!r} is not in {getattr(root, '__name__', root)}") from None
    return value


def find(dotted: str) -> Any:
    """What clew has for `torch.<dotted>`: a function, a Tensor method, or an in-place method."""
    for path in (dotted, f"Tensor.{dotted}", f"Tensor.{dotted}_"):
        try:
            return lookup(clew, path)
        except Missing:
            continue
    raise Missing(f"{dotted!r} is not in clew")


def exists(dotted: str) -> bool:
    """Whether clew has a function or a Tensor method of that name."""
    try:
        find(dotted)
    except Missing:
        return False
    return True


@functools.cache
def _torch_names() -> dict[int, list[str]]:
    """All public dotted names of each torch function, by identity."""
    names: dict[int, list[str]] = {}
    for space in _NAMESPACES:
        owner = lookup(torch, space) if space else torch
        for name in dir(owner):
            if name in ("__class__", "__dict__"):
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                value = getattr(owner, name, None)
            if callable(value) and not isinstance(value, type):
                names.setdefault(id(value), []).append(f"{space}.{name}" if space else name)
    return names


def counterpart(function: Callable[..., Any]) -> Callable[..., Any]:
    """clew's version of a torch function, of a partial of one, or of test code that calls one."""
    if getattr(function, "__name__", "") == "wrapper_set_seed":
        return _seeded
    names = _torch_names().get(id(function), [])
    for name in names:
        if exists(name):
            return find(name)
    if names:
        raise Missing(f"{names[0]!r} is not in clew")
    if isinstance(function, functools.partial):
        return functools.partial(
            counterpart(function.func), *to_clew(function.args), **to_clew(function.keywords)
        )
    if isinstance(function, types.FunctionType):
        return _retarget(function)
    if isinstance(function, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        return getattr(clew.ops.aten, str(function).split(".")[1])
    raise Missing(f"no counterpart is known for {function!r}")


_FRESH = torch.Generator().manual_seed(0).get_state()


def seed_torch() -> None:
    """Start torch's random stream anew; torch.manual_seed would also format a traceback."""
    torch.default_generator.manual_seed(0)


def seed_clew() -> None:
    """Start clew's stream anew, if torch has drawn from its own since `seed_torch`."""
    if not torch.equal(torch.default_generator.get_state(), _FRESH):
        clew.manual_seed(0)


def _seeded(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    clew.manual_seed(42)
    return op(*args, **kwargs)


def _retarget(function: types.FunctionType) -> Callable[..., Any]:
    """The same Python function, with clew wherever its code or its closure says torch."""
    bindings = dict(function.__globals__)
    for name in _global_names(function.__code__):
        if name in bindings:
            bindings[name] = _rebind(name, bindings[name])
    closure = tuple(
        types.CellType(_rebind("", cell.cell_contents)) for cell in function.__closure__ or ()
    )
    copy = types.FunctionType(
        function.__code__, bindings, function.__name__, function.__defaults__, closure
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def _global_names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _global_names(constant)


def _rebind(name: str, value: Any) -> Any:
    if value is torch:
        return clew
    if value is torch.nn.functional:
        return clew.nn.functional
    if isinstance(value, types.FunctionType) and value.__module__.startswith("torch.testing"):
        return counterpart(value)
    if id(value) in _torch_names():
        return counterpart(value)
    if isinstance(value, (torch.Tensor, torch.dtype)):
        return to_clew(value)
    return value


# ---------------------------------------------------------------- torch -> clew


def to_clew(value: Any, memo: dict[int, Any] | None = None) -> Any:
    """The same nested value with clew tensors, dtypes, devices and functions in it."""
    memo = {} if memo is None else memo
    if isinstance(value, torch.Tensor):
        if id(value) not in memo:
            # The memo also holds the torch tensor, so that its id stays its own.
            memo[id(value)] = (tensor_to_clew(value, memo), value)
        return memo[id(value)][0]
    if isinstance(value, torch.Size):
        return clew.Size(value)
    if isinstance(value, (list, tuple)):
        items = [to_clew(item, memo) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return {key: to_clew(item, memo) for key, item in value.items()}
    if isinstance(value, slice):
        return slice(*(to_clew(p, memo) for p in (value.start, value.stop, value.step)))
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        return lookup(clew, short_name(value))
    if isinstance(value, torch.device):
        return clew.device(str(value))
    return _plain_to_clew(value)


def _plain_to_clew(value: Any) -> Any:
    plain = (bool, int, float, complex, str, range, type(None), type(...), np.ndarray, np.generic)
    if isinstance(value, plain):
        return value
    if isinstance(value, type) and value in (bool, int, float, complex):
        return value
    if isinstance(value, torch.nn.PairwiseDistance):
        return functools.partial(
            clew.nn.functional.pairwise_distance,
            p=value.norm,
            eps=value.eps,
            keepdim=value.keepdim,
        )
    if isinstance(value, torch.nn.LinearCrossEntropyOptions):
        return clew.nn.LinearCrossEntropyOptions(**to_clew(dataclasses.asdict(value)))
    if callable(value) and not isinstance(value, (type, torch.nn.Module)):
        return counterpart(value)
    raise Untranslatable(f"{type(value).__name__} has no clew form")


def tensor_to_clew(tensor: torch.Tensor, memo: dict[int, Any] | None = None) -> Any:
    """A clew tensor with the same values, strides and requires_grad, in memory of its own.

    Tensors that share memory in torch share it in clew too, if they are given the same memo.
    """
    if tensor.device.type != "cpu":
        raise Untranslatable(f"a {tensor.layout} tensor on {tensor.device} has no clew form")
    if tensor.layout != torch.strided:
        return _sparse_to_clew(tensor)
    if tensor.dim() > MAX_DIMS:
        raise Untranslatable(f"NumPy arrays have at most {MAX_DIMS} dimensions")
    plain = tensor.detach().resolve_conj().resolve_neg()
    memo = {} if memo is None else memo
    result = _whole_memory(plain, memo)
    if result is None:
        # `set_` counts as a write.
        memory = _same_bytes(plain.untyped_storage(), memo)
        result = clew.empty(0, dtype=lookup(clew, short_name(plain.dtype)))
        result.set_(memory, plain.storage_offset(), tuple(plain.shape), plain.stride())
    return result.requires_grad_() if tensor.requires_grad else result


def _sparse_to_clew(tensor: torch.Tensor) -> Any:
    *places, values = [tensor_to_clew(part) for part in sparse_parts(tensor.detach())]
    size, wanted = tuple(tensor.shape), tensor.requires_grad
    if tensor.layout == torch.sparse_coo:
        merged = tensor.is_coalesced()
        return clew.sparse_coo_tensor(
            places[0], values, size, is_coalesced=merged, requires_grad=wanted
        )
    layout = lookup(clew, short_name(tensor.layout))
    return clew.sparse_compressed_tensor(*places, values, size, layout=layout, requires_grad=wanted)


def _whole_memory(plain: torch.Tensor, memo: dict[int, Any]) -> Any:
    """A new clew tensor, where the torch tensor is all of its memory and the first to show it."""
    storage = plain.untyped_storage()
    if not plain.is_contiguous() or plain.nbytes != storage.nbytes():
        return None
    if storage.data_ptr() in memo:
        return None
    dtype = lookup(clew, short_name(plain.dtype))
    result = clew.empty(tuple(plain.shape), dtype=dtype)
    if not plain.numel():
        return result
    every_byte = torch.empty(0, dtype=torch.uint8).set_(storage).clone().numpy()
    result._array.reshape(-1).view(np.uint8)[...] = every_byte
    memo[storage.data_ptr()] = (result.untyped_storage(), storage)
    return result


def _same_bytes(storage: torch.UntypedStorage, memo: dict[int, Any]) -> Any:
    """A clew storage, which can be resized as torch's can: NumPy has not seen it."""
    if not storage.nbytes():
        return clew.UntypedStorage(0)
    address = storage.data_ptr()
    if address not in memo:
        # torch resizes no memory that NumPy has seen, either: NumPy gets a copy.
        every_byte = torch.empty(0, dtype=torch.uint8).set_(storage).clone().numpy()
        # The memo also holds the storage, so that its address stays its own.
        memo[address] = (clew.from_numpy(every_byte).clone().untyped_storage(), storage)
    return memo[address][0]


# ---------------------------------------------------------------- comparison


def assert_same(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    *,
    grad_flag: bool = True,
    where: str = "result",
) -> None:
    """Raise AssertionError unless clew's result equals torch's in structure and in values."""
    if isinstance(expected, torch.Tensor):
        _assert_same_tensor(actual, expected, rtol, atol, grad_flag, where)
    elif isinstance(expected, (list, tuple)):
        _assert_same_sequence(actual, expected, rtol, atol, grad_flag, where)
    elif isinstance(expected, dict):
        assert list(actual) == list(expected), f"{where}: keys {list(actual)}"
        for key, theirs in expected.items():
            place = f"{where}[{key!r}]"
            assert_same(actual[key], theirs, rtol, atol, grad_flag=grad_flag, where=place)
    elif callable(expected) and not isinstance(expected, type):
        assert callable(actual), f"{where}: {actual!r} is not callable"
    elif isinstance(expected, (torch.dtype, torch.device, torch.layout, torch.memory_format)):
        assert str(actual) == str(expected), f"{where}: {actual} but torch has {expected}"
    elif isinstance(expected, (float, complex)):
        assert type(actual) is type(expected), f"{where}: type {type(actual).__name__}"
        close = cmath.isclose(actual, expected, rel_tol=rtol or 1e-6, abs_tol=atol or 1e-8)
        both_nan = cmath.isnan(actual) and cmath.isnan(expected)
        assert close or both_nan, f"{where}: {actual} but torch has {expected}"
    else:
        assert type(actual) is type(expected), (
            f"{where}: type {type(actual).__name__} but torch has {type(expected).__name__}"
        )
        assert actual == expected, f"{where}: {actual!r} but torch has {expected!r}"


def _assert_same_sequence(
    actual: Any,
    expected: Any,
    rtol: float | None,
    atol: float | None,
    grad_flag: bool,
    where: str,
) -> None:
    assert isinstance(actual, (list, tuple)), f"{where}: {type(actual).__name__}, not a sequence"
    assert len(actual) == len(expected), (
        f"{where}: {len(actual)} items but torch has {len(expected)}"
    )
    for name in field_names(expected):
        assert hasattr(actual, name), f"{where}: no field {name!r}, which torch's result has"
        index = next(i for i, item in enumerate(expected) if item is getattr(expected, name))
        assert getattr(actual, name) is actual[index], f"{where}: field {name!r} is misplaced"
    for i, (ours, theirs) in enumerate(zip(actual, expected, strict=True)):
        assert_same(ours, theirs, rtol, atol, grad_flag=grad_flag, where=f"{where}[{i}]")


def field_names(value: Any) -> list[str]:
    """Field names of a namedtuple, or of one of torch.return_types; none for plain tuples."""
    if hasattr(value, "_fields"):
        return list(value._fields)
    if type(value).__module__ != "torch.return_types":
        return []
    descriptor = types.MemberDescriptorType
    return [n for n, d in vars(type(value)).items() if isinstance(d, descriptor)]


def _assert_same_tensor(
    actual: Any,
    expected: torch.Tensor,
    rtol: float | None,
    atol: float | None,
    grad_flag: bool,
    where: str,
) -> None:
    assert isinstance(actual, clew.Tensor), f"{where}: {type(actual).__name__}, not a Tensor"
    assert tuple(actual.shape) == tuple(expected.shape), (
        f"{where}: shape {tuple(actual.shape)} but torch has {tuple(expected.shape)}"
    )
    assert str(actual.dtype) == str(expected.dtype), (
        f"{where}: dtype {actual.dtype} but torch has {expected.dtype}"
    )
    if grad_flag:
        # torch lets x.lt_(y) make an integer tensor require grad, though no gradient can reach it.
        wanted = expected.requires_grad and is_inexact(expected)
        assert actual.requires_grad == wanted, (
            f"{where}: requires_grad={actual.requires_grad} but torch {wanted}"
        )
    assert str(actual.layout) == str(expected.layout), (
        f"{where}: layout {actual.layout} but torch has {expected.layout}"
    )
    if expected.layout != torch.strided:
        pairs = zip(sparse_parts(actual.detach()), sparse_parts(expected.detach()), strict=True)
        for number, (ours, theirs) in enumerate(pairs):
            _assert_same_tensor(ours, theirs, rtol, atol, False, f"{where}, part {number}")
        return
    default = TOLERANCES.get(short_name(expected.dtype), (0.0, 0.0))
    rtol = default[0] if rtol is None else rtol
    atol = default[1] if atol is None else atol
    assert_same_values(to_numpy(actual), to_numpy(expected), rtol, atol, where)


def _widest(array: Array) -> Array:
    if array.dtype.kind in "biu":
        return array
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def assert_same_values(
    actual: Array, expected: Array, rtol: float, atol: float, where: str = "result"
) -> None:
    """Raise AssertionError unless |actual - expected| <= atol + rtol |expected|, NaNs equal."""
    ours, theirs = _widest(actual), _widest(expected)
    if ours.dtype.kind in "biu":
        wrong = ours != theirs
    else:
        with np.errstate(all="ignore"):
            wrong = ~np.isclose(ours, theirs, rtol=rtol, atol=atol, equal_nan=True)
            if ours.dtype.kind == "c":
                # NumPy compares complex infinities exactly, with the finite part beside them.
                close = [
                    np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
                    for a, b in ((ours.real, theirs.real), (ours.imag, theirs.imag))
                ]
                wrong &= ~(np.isinf(theirs) & close[0] & close[1])
    if not wrong.any():
        return
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    raise AssertionError(
        f"{where}: {int(wrong.sum())} of {wrong.size} values differ (rtol {rtol}, atol {atol}); "
        f"at {place}: {ours[place]} but torch has {theirs[place]}"
    )


def copies(value: Any) -> list[torch.Tensor]:
    """The values of all tensors of a nested value, as they are now."""
    return [t.detach().clone() for t in tensors_in(value)]


def assert_same_inputs(actual: Any, expected: Any, before: list[torch.Tensor]) -> None:
    """After the call clew's inputs equal torch's: exactly so where torch has written to none."""
    pairs = zip(tensors_in(actual), tensors_in(expected), before, strict=True)
    for i, (ours, theirs, old) in enumerate(pairs):
        now, same_shape = theirs.detach(), theirs.shape == old.shape
        if theirs.layout != torch.strided:
            now, old = sparse_parts(now)[-1], sparse_parts(old)[-1]
        untouched = same_shape and torch.equal(now.nan_to_num(), old.nan_to_num())
        tolerance = (0.0, 0.0) if untouched else (None, None)
        assert_same(ours, theirs, *tolerance, where=f"input {i} after the call")


# ---------------------------------------------------------------- exceptions


def assert_same_error(
    actual: BaseException | None, expected: BaseException, words: int = 0
) -> None:
    """clew must raise what torch raises (or a subclass), with the same first `words` words."""
    name = type(expected).__name__
    text = f"torch raises {name}: {first_line(expected)}"
    assert actual is not None, f"nothing raised, but {text}"
    kinds = [kind.__name__ for kind in type(actual).__mro__]
    assert name in kinds, f"{type(actual).__name__} ({first_line(actual)}) raised, but {text}"
    ours, theirs = (first_line(e).split()[:words] for e in (actual, expected))
    assert ours == theirs, f"the message begins {' '.join(ours)!r}, but {text}"


def first_line(error: BaseException) -> str:
    """The first line of an exception's message."""
    return str(error).strip().split("\n")[0]


def outcome(function: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """(result, None), or (None, the exception) when the call raises."""
    try:
        return function(*args, **kwargs), None
    except Exception as error:  # the error is the outcome
        return None, error


def both(
    ours: Callable[..., Any], theirs: Callable[..., Any], ours_in: Any, theirs_in: Any
) -> tuple[Any, Any] | None:
    """The results of a call in both libraries, from the same seed; None if both raise alike."""
    seed_torch()
    expected, expected_error = outcome(theirs, *theirs_in[0], **theirs_in[1])
    seed_clew()
    actual, error = outcome(ours, *ours_in[0], **ours_in[1])
    if expected_error is not None:
        assert_same_error(error, expected_error)
        return None
    if error is not None:
        raise error
    return actual, expected
