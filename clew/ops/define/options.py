"""The arguments that all functions which make tensors share: size, dtype, device and the like."""

from __future__ import annotations

import contextlib
import operator
import warnings
from collections.abc import Sequence
from typing import Any, TypedDict

import numpy as np

from clew import errors
from clew.backend import device as devices
from clew.backend import dtypes
from clew.backend.layout import layout as layout_type
from clew.backend.layout import strided
from clew.core.elementwise import NUMBER
from clew.core.interception import note_constant
from clew.core.meta import memory as meta_memory
from clew.core.meta.classes import made_like
from clew.core.meta.handlers import is_wrapper
from clew.core.public import deliver, refuse_history
from clew.core.tensor import Tensor, wrap
from clew.kernels.runtime import jit
from clew.observer import active
from clew.ops.define.dims import require_bool
from clew.source import user_stacklevel


class Options(TypedDict, total=False):
    """Keyword arguments of a function that makes a tensor, besides dtype and out."""

    layout: layout_type | None
    device: Any
    pin_memory: bool | None
    requires_grad: bool


_KNOWN = frozenset(Options.__annotations__)
_ALL = slice(None)
# Bytes of a tensor that will hardly be used without compiled code.
_COMPLEX32 = dtypes.complex32.np
_LARGE = 1 << 14


def check_options(function: str, options: Any) -> bool:
    """Refuse options that are unknown or cannot be honoured; whether they name the meta device."""
    if not options:
        return devices.names_meta(None)
    unknown = options.keys() - _KNOWN
    if unknown:
        raise TypeError(
            f"{function}() got an unexpected keyword argument '{min(unknown)}'"
            + errors.at_user_line()
        )
    is_meta = devices.names_meta(options.get("device"))
    wanted = options.get("layout")
    if wanted is not None and wanted is not strided:
        raise RuntimeError(
            f"{function}(): only the strided layout exists here, got {wanted!r}"
            + errors.at_user_line()
        )
    if options.get("pin_memory"):
        raise cannot_pin()
    return is_meta


def without_memory(
    shape: Sequence[int], dtype: np.dtype, options: Any, like: Tensor | None = None
) -> np.ndarray | None:
    """The array of a tensor that is to be made on the meta device; None for one on the CPU."""
    wanted = options.get("device") if options else None
    if wanted is None and like is not None:
        return meta_memory.empty(shape, dtype) if meta_memory.is_meta(like._layout) else None
    return meta_memory.empty(shape, dtype) if devices.names_meta(wanted) else None


# Makes a tensor of zeros in a layout that is not strided; `clew.ops.sparse_methods` says how.
MAKE_UNSTRIDED: list[Any] = []


def unstrided(shape: tuple[int, ...], dtype: dtypes.dtype, options: Options) -> Tensor | None:
    """The tensor of zeros that a `layout` other than strided asks for; None without one."""
    wanted = options.get("layout")
    if wanted is None or wanted is strided:
        return None
    result: Tensor = MAKE_UNSTRIDED[0](wanted, shape, dtype.np)
    if options.get("requires_grad"):
        require_grad(result)
    return result


def cannot_pin() -> RuntimeError:
    return RuntimeError(
        "Cannot access accelerator device when none is available. Memory is pinned for transfers "
        "to an accelerator, and this build runs on the CPU." + errors.at_user_line()
    )


def read_dtype(function: str, dtype: Any) -> dtypes.dtype | None:
    """A dtype argument; Python's own types stand for their widest dtype."""
    if dtype is None or isinstance(dtype, dtypes.dtype):
        return dtype
    found = dtypes.PYTHON_TYPES.get(dtype) if isinstance(dtype, type) else None
    if found is None:
        raise TypeError(
            f"{function}(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}"
            + errors.at_user_line()
        )
    return found


def float_dtype(function: str, dtype: Any, out: Tensor | None) -> dtypes.dtype:
    """The dtype to make: the one given, else that of `out=`, else the default."""
    if dtype is not None:
        return read_dtype(function, dtype) or dtypes.get_default_dtype()
    return dtypes.get_default_dtype() if out is None else out.dtype


def read_size(function: str, sizes: tuple[Any, ...], size: Any = None) -> tuple[int, ...]:
    """A size given as `f(2, 3)`, `f((2, 3))`, `f(Size)` or `f(size=...)`."""
    if size is not None:
        sizes = (size,)
    elif not sizes:
        raise errors.missing_argument(function, "size")
    is_listed = len(sizes) == 1 and isinstance(sizes[0], (tuple, list))
    if is_listed:
        # A list of the user's own class may iterate as it likes.
        given = sizes[0]
        sizes = tuple(list.__getitem__(given, _ALL) if isinstance(given, list) else given)
    return checked_size(function, sizes, is_listed)


def checked_size(function: str, sizes: Any, is_listed: bool = True) -> tuple[int, ...]:
    if not isinstance(sizes, (tuple, list)):
        raise errors.wrong_argument(function, "size", 1, "tuple of ints", sizes)
    try:
        shape = tuple(map(operator.index, sizes))
    except TypeError:
        is_read = False
    else:
        is_read = not sizes or type(sizes[0]) is not bool
    if not is_read:
        shape = tuple(
            _read_extent(function, position, n, is_listed) for position, n in enumerate(sizes)
        )
    if not shape or min(shape) >= 0:
        return shape
    for n in shape:
        if n < 0:
            text = (
                "zeros: Dimension size must be non-negative."
                if function == "zeros"
                else f"Trying to create tensor with negative dimension {n}: "
                f"{errors.shape_list(shape)}"
            )
            raise RuntimeError(text + errors.at_user_line())
    return shape


def _read_extent(function: str, position: int, n: Any, is_listed: bool) -> int:
    # PyTorch looks at the type of the first one only: a bool after it is a number.
    if position or type(n) is not bool:
        with contextlib.suppress(TypeError):
            return operator.index(n)
    kind = type(n).__name__
    words = " (position 1) must be tuple of ints, "
    if position:
        words = (
            f' failed to unpack the object at pos {position + 1} with error "type must be '
            f'tuple of ints,but got {kind}"'
        )
    elif is_listed:
        words += f"but found element of type {kind} at pos 0"
    else:
        words += f"not {kind}"
    raise TypeError(f"{function}(): argument 'size'{words}" + errors.at_user_line())


def made(
    function: str,
    array: np.ndarray,
    options: Options,
    out: Tensor | None = None,
    like: Tensor | None = None,
) -> Tensor:
    """The tensor around a new array, delivered into `out=` where one was given.

    Inside vmap, what is made `like` a tensor has examples of its own where that one has.
    """
    is_meta = check_options(function, options)
    if like is not None and type(like) is not Tensor and is_wrapper(like):
        is_sized = function.startswith("new_")
        args = (list(array.shape),) if is_sized else ()
        wrapper: Tensor = made_like(function, like, args, dict(options))
        return wrapper
    if like is not None and (not options or options.get("device") is None):
        is_meta = meta_memory.is_meta(like._layout)
    if is_meta and out is None and not meta_memory.is_meta(array):
        array = meta_memory.like(array)
    if array.dtype is _COMPLEX32:
        errors.warn_of_complex32()
    if array.nbytes >= _LARGE and not is_meta:
        # Kernels will be needed. From now on arrays begin with a line of the cache.
        jit.machine()
    if out is not None:
        refuse_history(function, (), {}, out, differentiable=None)
        result = wrap(array)
        if result.dtype is not out.dtype:
            raise RuntimeError(
                f"dtype {result.dtype.scalar_name} does not match dtype of out parameter "
                f"({out.dtype.scalar_name})" + errors.at_user_line()
            )
        deliver(result, out, function, warns=False)
        if options.get("requires_grad"):
            require_grad(out)
        return out
    result = wrap(array)
    if like is not None and like._is_lifted:
        result = like.alike(note_constant(result))  # outside of vmap, as it is copied there
    if options and options.get("requires_grad") not in (None, False):
        require_bool("requires_grad", options["requires_grad"])
        require_grad(result)
    if not result._is_lifted:
        note_constant(result)
    observer = active.observer
    if observer is not None:
        observer.tensor_made(result)
    return result


def warn_of_length(out: Tensor | None, count: int) -> None:
    """What `arange` and its kin say of an `out=` for another number of elements."""
    if out is not None and out._array.size not in (0, count):
        warnings.warn(
            f"The number of elements in the out tensor of shape "
            f"{errors.shape_list(out._array.shape)} is {out._array.size} which does not match the "
            f"computed number of elements {count}. Note that this may occur as a result of "
            f"rounding error. The out tensor will be resized to a tensor of shape ({count},).",
            stacklevel=user_stacklevel(),
        )


def require_grad(tensor: Tensor) -> None:
    """Make a new tensor a leaf that wants its gradient."""
    if tensor.dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            "Only Tensors of floating point and complex dtype can require gradients"
            + errors.at_user_line()
        )
    tensor._requires_grad = True


def checked_number(value: Any, dtype: dtypes.dtype) -> Any:
    """A number that `dtype` can hold; negative numbers wrap around in unsigned types."""
    if isinstance(value, Tensor):
        value = value.item()
    if isinstance(value, complex) and dtype.category < dtypes.COMPLEX:
        if value.imag:
            raise overflow(dtype)
        value = value.real
    if dtype.category == dtypes.BOOL:
        return bool(value)
    if dtype.category == dtypes.INTEGER:
        return _checked_integer(value, dtype)
    if dtype.category == dtypes.FLOAT and np.isfinite(value):
        limit = dtypes.finfo(dtype).max
        if not -limit <= value <= limit:
            raise overflow(dtype)
    return value


def _checked_integer(value: Any, dtype: dtypes.dtype) -> int:
    limits = np.iinfo(dtype.np)
    is_integer = isinstance(value, (int, np.integer))
    if not is_integer and (not np.isfinite(value) or value < limits.min):
        raise overflow(dtype)
    number = int(value)
    lowest = int(limits.min) if dtype.is_signed else -int(limits.max)
    if not lowest <= number <= int(limits.max):
        raise overflow(dtype)
    return number if number >= limits.min else number + int(limits.max) + 1


def overflow(dtype: dtypes.dtype) -> RuntimeError:
    return errors.scalar_overflow(dtype.name)


def require_number(function: str, value: Any) -> None:
    """A number, or a tensor that holds one and needs no gradient."""
    if isinstance(value, Tensor):
        is_number = not value.ndim and not value.requires_grad
    else:
        is_number = isinstance(value, NUMBER)
    if not is_number:
        raise errors.wrong_argument(function, "fill_value", 2, "Number", value)
