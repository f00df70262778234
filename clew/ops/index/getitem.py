"""`x[index]` and `x[index] = value`, with PyTorch's rules.

Integers, slices, None and Ellipsis are applied one after the other and give views. What remains,
tensors and lists of integers or of bools, is then applied at once: reading gives a copy, writing
goes through `index_put_`.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.elementwise import NUMBER
from clew.core.inplace import apply_inplace, needs_no_checks, refuse_leaf, run_inplace
from clew.core.interception import note_constant, note_read
from clew.core.meta.device import refuse_read
from clew.core.public import methods
from clew.core.recording import differentiable
from clew.core.state import local
from clew.core.tensor import Tensor, wrap
from clew.kernels.compiled.copies import copy_into
from clew.observer import active
from clew.ops.index.index_put import (
    apart,
    check_dtypes,
    check_put_dtype,
    index_op,
    index_put_op,
    out_of_bounds,
    refuse_bytes,
    refuse_mask,
    split_indices,
)
from clew.ops.index.masking import masked_fill_
from clew.ops.index.walking import ALL
from clew.ops.shape.slicing import SELECT, SLICE
from clew.ops.shape.splitting import UNBIND
from clew.ops.shape.squeezing import UNSQUEEZE
from clew.ops.shape.views import ALIAS
from clew.ops.tensor.copying import copy_, fill_, scalar_as
from clew.source import user_stacklevel, user_where

Shape = tuple[int, ...]
_INT64 = np.dtype(np.int64)


# -- reading the index ---------------------------------------------------------------------


def _as_slice(index: slice, n: int) -> tuple[int, int, int]:
    start, stop, step = index.indices(n)
    if step < 0:
        raise ValueError("step must be greater than zero" + errors.at_user_line())
    return start, stop if stop > start else start, step


def _is_all(index: slice, n: int) -> bool:
    """Whether a slice that selects all says so without counting from the end or past it."""
    return not index.start and (index.stop is None or operator.index(index.stop) >= n)


def _select(self: Tensor, dim: int, index: int, original_dim: int) -> Tensor:
    array = self._array
    n = array.shape[dim]
    if not -n <= index < n:
        raise out_of_bounds(index, original_dim, n)
    # The ellipsis makes NumPy return an array, not a number, for the last dimension.
    part = array[index, ...] if not dim else array[(ALL,) * dim + (index, ...)]
    return SELECT.view.share(self, {"dim": dim, "index": index + n if index < 0 else index}, part)


def _slice(self: Tensor, dim: int, start: int, stop: int, step: int) -> Tensor:
    kept = slice(start, stop, step)
    part = self._array[(ALL,) * dim + (kept,)] if dim else self._array[kept]
    params = {"dim": dim, "start": start, "end": stop, "step": step}
    return SLICE.view.share(self, params, part)


def _tensor_index(index: Any) -> Tensor:
    """A list, range or ndarray inside an index, as a tensor."""
    if isinstance(index, Tensor):
        return index
    if isinstance(index, (list, tuple, range)) and any(isinstance(i, Tensor) for i in index):
        index = [i._array if isinstance(i, Tensor) else i for i in index]
    if isinstance(index, (list, tuple, range, np.ndarray)):
        array = np.asarray(index)
        if not isinstance(index, np.ndarray) and (not array.size or array.dtype.kind == "f"):
            array = array.astype(np.int64)
        if array.dtype in dtypes.BY_NUMPY:
            return wrap(array)
    if isinstance(index, str):
        raise TypeError("new(): invalid data type 'str'" + errors.at_user_line())
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
        f"indices (got {type(index).__name__})" + errors.at_user_line()
    )


def _as_tuple(index: Any) -> tuple[Any, ...]:
    if isinstance(index, tuple):
        return index
    if isinstance(index, list) and _is_tuple_like(index):
        warnings.warn(
            "Using a non-tuple sequence for multidimensional indexing is deprecated and will be "
            "changed in pytorch 2.9; use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will "
            "be interpreted as tensor index, x[torch.tensor(seq)], which will result either in an "
            "error or a different result",
            stacklevel=user_stacklevel(),
        )
        return tuple(index)
    return (index,)


def _is_tuple_like(index: list[Any]) -> bool:
    """A short list that holds more than numbers stands for a tuple, as in old NumPy."""
    return len(index) < 32 and any(
        isinstance(each, (slice, type(None), type(...), Tensor, list, tuple, range, np.ndarray))
        for each in index
    )


def _dims_taken(index: Any) -> int:
    """How many of the tensor's dimensions one part of an index uses up."""
    if index is None or index is Ellipsis or isinstance(index, (bool, np.bool_)):
        return 0
    if isinstance(index, (Tensor, np.ndarray)):
        array = index._array if isinstance(index, Tensor) else index
        return array.ndim if array.dtype.kind == "b" or array.dtype == np.uint8 else 1
    if isinstance(index, (list, tuple, range)):
        first = _tensor_index(index)._array
        return first.ndim if first.dtype.kind == "b" else 1
    return 1


def _apply_basic(self: Tensor, given: Any) -> tuple[Tensor, list[Tensor | None]]:
    """Apply what gives views; the rest comes back as one entry per dimension."""
    index = _as_tuple(given)
    taken = sum(map(_dims_taken, index))
    ndim = self._array.ndim
    if taken > ndim and not ndim and not isinstance(given, tuple) and len(index) == 1:
        raise _no_dimension(index[0])
    if taken > ndim:
        raise IndexError(f"too many indices for tensor of dimension {ndim}" + errors.at_user_line())
    current = self
    advanced: list[Tensor | None] = []
    dim = 0
    for each in index:
        if each is Ellipsis:
            dim += ndim - taken
        elif isinstance(each, slice):
            n = current._array.shape[dim]
            start, stop, step = _as_slice(each, n)
            if start or stop != n or step != 1 or not _is_all(each, n):
                current = _slice(current, dim, start, stop, step)
            dim += 1
        elif each is None:
            current = UNSQUEEZE(current, dim=dim)
            dim += 1
        elif isinstance(each, (bool, np.bool_)):
            current = UNSQUEEZE(current, dim=dim)
            _record(advanced, dim, wrap(np.zeros(int(each), np.int64)))
            dim += 1
        elif isinstance(each, (int, np.integer)):
            # Selecting removes the dimension, so the user's count runs ahead.
            original = dim + ndim - current._array.ndim
            current = _select(current, dim, int(each), original)
        else:
            current, dim = _apply_tensor(current, dim, _tensor_index(each), advanced)
    return current, advanced


def _no_dimension(index: Any) -> IndexError:
    """What is wrong with an index of a tensor without dimensions."""
    if isinstance(index, slice):
        words = "slice() cannot be applied to a 0-dim tensor."
    elif not isinstance(index, (int, np.integer)):
        words = "too many indices for tensor of dimension 0"
    elif index:
        words = f"index {index} is out of bounds for dimension 0 with size 0"
    else:
        words = "invalid index of a 0-dim tensor."
    return IndexError(
        f"{words} Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim "
        "tensor to a number" + errors.at_user_line()
    )


def _apply_tensor(
    current: Tensor, dim: int, index: Tensor, advanced: list[Tensor | None]
) -> tuple[Tensor, int]:
    array = index._array
    is_mask = array.dtype.kind == "b" or array.dtype == np.uint8
    if not array.ndim:
        if array.dtype.kind in "iu" and not is_mask and not index._is_lifted:
            note_read(index, "index")
            return _select(current, dim, int(array), dim), dim
        if not is_mask:
            # Inside vmap each example has its own number.
            _record(advanced, dim, index)
            return current, dim + 1
        current = UNSQUEEZE(current, dim=dim)
        _record(advanced, dim, wrap(np.zeros(int(bool(array)), np.int64)))
        return current, dim + 1
    if is_mask:
        refuse_read(index, "nonzero")
    if array.dtype == np.uint8:
        warnings.warn(
            "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool "
            "instead.",
            stacklevel=user_stacklevel(),
        )
    _record(advanced, dim, index)
    return current, dim + (array.ndim if is_mask else 1)


def _record(advanced: list[Tensor | None], dim: int, index: Tensor) -> None:
    """Note an index tensor for a dimension; masks stand for as many as they have."""
    have = sum(1 if each is None else _dims_taken(each) for each in advanced)
    advanced.extend([None] * (dim - have))
    advanced.append(index)


# -- the methods ---------------------------------------------------------------------------


def getitem(self: Tensor, index: Any) -> Tensor:
    """`self[index]`."""
    if type(index) is int and self._array.ndim:
        return _select(self, 0, index, 0)
    part = _plain_part(self, index)
    if part is not None:
        return ALIAS(self) if part is self else part
    places = _plain_places(self, index)
    if places is not None:
        return index_op(len(places))(self, *places, pattern=(True,) * len(places))
    current, advanced = _apply_basic(self, index)
    if not advanced:
        return ALIAS(self) if current is self else current
    check_dtypes(advanced)
    tensors, pattern = split_indices(advanced)
    return index_op(len(tensors))(current, *tensors, pattern=pattern)


def _plain_places(self: Tensor, index: Any) -> tuple[Tensor, ...] | None:
    """The short path for `x[i]` and `x[i, j]`, where all are vectors and the like of int64."""
    given = index if type(index) is tuple else (index,)
    if not given or len(given) > self._array.ndim:
        return None
    for each in given:
        if type(each) is not Tensor or each._array.dtype is not _INT64 or not each._array.ndim:
            return None
    return given


def _plain_part(self: Tensor, index: Any, to_set: bool = False) -> Tensor | None:
    """The short path for `x[i]`, `x[a:b]`, `x[:, i]`; None when the index holds anything else.

    The tensor itself if the index is all of it.
    """
    kind = type(index)
    shape = self._array.shape
    if kind is int and shape:
        return _select(self, 0, index, 0)
    if kind is slice and shape:
        start, stop, step = _as_slice(index, shape[0])
        if to_set and stop == shape[0] and step == 1 and _is_all(index, stop):
            return self
        return _slice(self, 0, start, stop, step)
    if index is None:
        return UNSQUEEZE(self, dim=0)
    if kind is not tuple or not index or len(index) > len(shape):
        return None
    for each in index:
        if type(each) is not int and type(each) is not slice:
            return None
    current = self
    dim = 0
    for original, each in enumerate(index):
        if type(each) is int:
            current = _select(current, dim, each, original)
            continue
        if each != ALL:
            n = current._array.shape[dim]
            start, stop, step = _as_slice(each, n)
            if start or stop != n or step != 1 or not _is_all(each, n):
                current = _slice(current, dim, start, stop, step)
        dim += 1
    return current


def _write_plainly(self: Tensor, index: Any, value: Tensor) -> bool:
    """The short path for `x[i] = value` and `x[a:b] = value` where nothing has a history, and a
    view of the part would be made for this write only; whether it was taken."""
    state, array = local.state, self._array
    have = value._array
    if (
        have.dtype is not array.dtype
        or type(array) is not np.ndarray
        or not array.ndim
        or state.intercept is not None
        or not state.grad_enabled
        or active.observer is not None
        or not needs_no_checks(state, (self, value))
    ):
        return False
    if type(index) is int:
        if not -array.shape[0] <= index < array.shape[0]:
            return False
        part = array[index, ...]
    elif type(index) is slice and index.step is None:
        if not _is_plain(index.start) or not _is_plain(index.stop):
            return False
        part = array[index]
    else:
        return False
    if have.shape == part.shape:
        copy_into(part, have)
        self._storage.bump("copy_", user_where())
        return True
    if not have.ndim:
        part[...] = have
        self._storage.bump("fill_tensor_", user_where())
        return True
    return False


def _is_plain(bound: Any) -> bool:
    return bound is None or type(bound) is int


def setitem(self: Tensor, index: Any, value: Any) -> None:
    """`self[index] = value`."""
    if not isinstance(value, (Tensor, *NUMBER)):
        raise TypeError(
            f"can't assign a {type(value).__name__} to a torch.{self.dtype.scalar_name}Tensor"
            + errors.at_user_line()
        )
    if not isinstance(value, Tensor):
        value = note_constant(wrap(scalar_as(value, self._array.dtype)))
    if index is False or _write_plainly(self, index, value):
        return
    part = _plain_part(self, None if index is True else index, to_set=True)
    advanced: list[Tensor | None] = []
    if part is not None:
        current = part
    else:
        places = _plain_places(self, index)
        if places is not None:
            if _put_plainly(self, places, value):
                return
            current, advanced = self, list(places)
        else:
            current, advanced = _apply_basic(self, index)
    if advanced:
        if value is self:
            value = _itself(self, index, current)
        _set_advanced(current, advanced, value)
    elif value._array.ndim or not current._array.ndim:
        copy_(current, _fitted(value, current._array.shape))
    else:
        fill_(current, value)


def _itself(self: Tensor, index: Any, current: Tensor) -> Tensor:
    """A tensor as the value that is assigned to a part of it."""
    slices = [each for each in _as_tuple(index) if isinstance(each, slice)]
    if not slices:
        return self
    is_whole = current._array.shape == self._array.shape
    if is_whole and not self._array.size and not any(each.start for each in slices):
        # Otherwise it is found by its memory, of which there is none.
        raise errors.partial_overlap()
    # A slice makes another tensor, also of everything.
    return ALIAS(self)


def _put_plainly(self: Tensor, places: tuple[Tensor, ...], value: Tensor) -> bool:
    """The short path for `x[i] = value` and `x[i, j] = value` with tensors of integers, where
    nothing has a history; whether it was taken."""
    state, have = local.state, value._array
    if (
        have.dtype is not self._array.dtype
        or (have.ndim and have.shape[0] == 1)
        or state.intercept is not None
        or not state.grad_enabled
        or not needs_no_checks(state, (self, value, *places))
    ):
        return False
    count = len(places)
    params = {"pattern": (True,) * count, "accumulate": False}
    run_inplace(state, index_put_op(count), (self, value, *places), params)
    return True


def _set_advanced(current: Tensor, advanced: list[Tensor | None], value: Tensor) -> None:
    refuse_leaf(current, "index_put_")
    tensors, pattern = split_indices(advanced)
    refuse_bytes(current, advanced, value)
    value = _without_leading_ones(value)
    if not differentiable(current) and value.requires_grad and _is_one_mask(advanced, value):
        mask = tensors[0]
        refuse_mask(current, advanced)
        more = [1] * (current._array.ndim - mask._array.ndim)
        masked_fill_(current, mask.reshape(*mask._array.shape, *more), value)
        return
    value = apart(current, advanced, value)
    check_dtypes(advanced)
    if value._array.dtype is not current._array.dtype:
        # What is wrong with the shapes is said first.
        bare = current.detach(), value.detach().to(current.dtype)
        places = [each if each.dtype is dtypes.bool_ else each * 0 for each in tensors]
        index_put_op(len(tensors))(*bare, *places, pattern=pattern, accumulate=False)
        check_put_dtype(current, value)
    apply_inplace(
        index_put_op(len(tensors)), current, value, *tensors, pattern=pattern, accumulate=False
    )


def _is_one_mask(advanced: list[Tensor | None], value: Tensor) -> bool:
    """Whether it is one value for where one mask is true."""
    return not value._array.ndim and len(advanced) == 1 and _is_mask(advanced[0])


def _is_mask(index: Tensor | None) -> bool:
    return index is not None and index._array.dtype.kind == "b"


def _without_leading_ones(value: Tensor) -> Tensor:
    shape = value._array.shape
    extra = 0
    while extra < len(shape) and shape[extra] == 1:
        extra += 1
    return value.reshape(shape[extra:]) if extra else value


def _fitted(value: Tensor, shape: Shape) -> Tensor:
    """A value that broadcasts to the part it is assigned to; leading ones are dropped."""
    have = value._array.shape
    return value if have == shape else _without_leading_ones(value).expand(shape)


def _length(self: Tensor) -> int:
    if not self._array.ndim:
        raise TypeError("len() of a 0-d tensor" + errors.at_user_line())
    return self._array.shape[0]


def _iterate(self: Tensor) -> Iterator[Tensor]:
    if not self._array.ndim:
        raise TypeError("iteration over a 0-d tensor" + errors.at_user_line())
    return iter(UNBIND(self, dim=0))


def _contains(self: Tensor, element: Any) -> bool:
    if isinstance(element, (Tensor, *NUMBER)):
        equal: Any = element == self
        return bool(equal.any())
    raise RuntimeError(
        f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}."
        + errors.at_user_line()
    )


def _refuse_deletion(self: Tensor, index: Any) -> None:
    raise TypeError("Tensor does not support deleting items" + errors.at_user_line())


methods(
    __delitem__=_refuse_deletion,
    __getitem__=getitem, __setitem__=setitem, __len__=_length, __iter__=_iterate,
    __contains__=_contains,
)  # fmt: skip
