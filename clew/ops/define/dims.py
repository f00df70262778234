"""Reading dimension and shape arguments as PyTorch does."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from clew import errors
from clew.core.tensor import Tensor
from clew.overloads import not_an_int, wrong_in_method

F = TypeVar("F", bound=Callable[..., Any])


def numpy_names(function: F) -> F:
    """Also accept NumPy's names: `axis` for `dim` and `keepdims` for `keepdim`."""

    @functools.wraps(function)
    def accepting(*args: Any, **kwargs: Any) -> Any:
        if not kwargs:
            return function(*args)
        if "axis" in kwargs:
            kwargs["dim"] = kwargs.pop("axis")
        if "keepdims" in kwargs:
            kwargs["keepdim"] = kwargs.pop("keepdims")
        return function(*args, **kwargs)

    # For callers that have no names to pass on, like `with_out`. Mypy knows no such attribute.
    accepting.positional = function  # type: ignore[attr-defined]
    return accepting  # type: ignore[return-value]  # it takes what `function` takes, and more


def wrap_dim(dim: Any, ndim: int) -> int:
    """A dimension counted from the front; a 0-dim tensor has the dimensions 0 and -1."""
    if type(dim) is int and -ndim <= dim < ndim:
        return dim if dim >= 0 else dim + ndim
    dim = _integer(dim)
    limit = ndim or 1
    if not -limit <= dim < limit:
        raise errors.dimension_out_of_range(dim, ndim)
    return dim % limit


def is_int(value: Any) -> bool:
    """Whether PyTorch takes a value for an int: also NumPy's integers and 0-dim integer tensors."""
    if isinstance(value, Tensor):
        return value._array.ndim == 0 and value._array.dtype.kind in "iu"
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def require_bool(name: str, value: Any) -> None:
    """Refuse what is not a bool for a flag: PyTorch takes no 0 or 1 for one."""
    if value is not True and value is not False:
        raise wrong_in_method(f"argument '{name}' must be bool, not {errors.kind_name(value)}")


def refuse_flag(name: str, value: Any) -> None:
    """Refuse a bool for an integer: Python takes True for 1, PyTorch does not."""
    if value is True or value is False:
        raise wrong_in_method(f"argument '{name}' must be int, not bool")


def _integer(dim: Any) -> int:
    if not hasattr(type(dim), "__index__") or isinstance(dim, bool):
        raise not_an_int(dim)
    if isinstance(dim, Tensor) and not is_int(dim):
        raise not_an_int(dim)
    return operator.index(dim)


def wrap_dims(dims: int | Iterable[int] | None, ndim: int) -> tuple[int, ...]:
    """Several dimensions, each once; None or an empty list means all of them."""
    if dims is None:
        return tuple(range(ndim))
    listed = [dims] if isinstance(dims, (int, np.integer, Tensor)) else dims
    if not isinstance(listed, (tuple, list)):
        raise wrong_in_method(f"argument 'dim' must be tuple of ints, not {errors.kind_name(dims)}")
    if not listed:
        return tuple(range(ndim))
    wrapped = tuple(wrap_dim(dim, ndim) for dim in listed)
    if len(set(wrapped)) != len(wrapped):
        repeated = next(d for d in wrapped if wrapped.count(d) > 1)
        raise RuntimeError(
            f"dim {repeated} appears multiple times in the list of dims" + errors.at_user_line()
        )
    return wrapped


def shape_argument(
    args: tuple[Any, ...], keyword: Sequence[int] | None = None, function: str = "", name: str = ""
) -> tuple[int, ...]:
    """A shape given as `f(2, 3)`, `f((2, 3))`, `f(Size)`, or by the keyword `name`."""
    if keyword is not None:
        args = tuple(keyword)
    elif len(args) == 1 and isinstance(args[0], (tuple, list)):
        args = tuple(args[0])
    elif not args:
        raise errors.missing_argument(function, name)
    try:
        shape = tuple(map(operator.index, args))
    except TypeError:
        wrong = next(each for each in args if not isinstance(each, int))
    else:
        # PyTorch looks at the type of the first one only.
        if not args or type(args[0]) is not bool:
            return shape
        wrong = args[0]
    if function and len(args) == 1:
        raise errors.wrong_argument(function, name, 1, "tuple of ints", wrong)
    raise TypeError(
        f"a shape must be a tuple of ints, not of {type(wrong).__name__}" + errors.at_user_line()
    )


def infer_shape(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """Fill in the one -1 of a shape for `size` elements."""
    known = 1
    unknown = -1
    for index, n in enumerate(shape):
        if n == -1:
            if unknown >= 0:
                raise RuntimeError("only one dimension can be inferred" + errors.at_user_line())
            unknown = index
        elif n < 0:
            raise RuntimeError(f"invalid shape dimension {n}" + errors.at_user_line())
        else:
            known *= n
    if unknown >= 0:
        if known == size == 0:
            raise RuntimeError(
                f"cannot reshape tensor of 0 elements into shape {errors.shape_list(shape)} "
                "because the unspecified dimension size -1 can be any value and is ambiguous"
                + errors.at_user_line()
            )
        if known and size % known == 0:
            return (*shape[:unknown], size // known, *shape[unknown + 1 :])
    elif known == size:
        return shape
    raise RuntimeError(
        f"shape '{errors.shape_list(shape)}' is invalid for input of size {size}"
        + errors.at_user_line()
    )
