"""What masked tensors make of operations: elementwise ones, views and selections, softmax, sums."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from clew import errors, masked
from clew.backend.layout import sparse_coo, strided
from clew.core.elementwise import Elementwise
from clew.core.tensor import Tensor
from clew.masked.maskedtensor.core import (
    OPERATIONS,
    OTHERS,
    MaskedTensor,
    data_of,
    is_masked_tensor,
    made,
    mask_of,
)
from clew.masked.masks import reduced_dims
from clew.ops.sparse.pointwise import with_values
from clew.source import user_stacklevel
from clew.utils._pytree import tree_leaves, tree_map

# Operations that move elements, and do with masks what they do with data.
_MOVING = frozenset({
    "cat", "stack", "index", "index_backward", "select_backward", "slice_backward",
    "diagonal_backward", "unfold_backward", "_unsafe_view", "im2col", "col2im", "repeat", "flip",
    "roll", "index_select", "gather", "masked_select", "take", "tril", "triu", "movedim",
})  # fmt: skip
# Elementwise in all but their class.
_ELEMENTWISE = frozenset({
    "relu", "gelu", "clamp", "lerp", "addcmul", "addcdiv", "threshold_backward", "_to_copy",
    "clone", "detach", "ones_like", "zeros_like", "full_like", "softplus", "elu", "silu",
})  # fmt: skip
_SUMS = {"sum": "sum", "sum_dim": "sum", "mean": "mean", "mean_dim": "mean"}


def _same_mask(args: Any) -> Tensor:
    """The mask that all masked operands have."""
    masks = [value._masked_mask for value in tree_leaves(args) if is_masked_tensor(value)]
    first = masks[0]
    for other in masks[1:]:
        if other is not first and not _match(first, other):
            raise ValueError(
                "Input masks must match. If you need support for this, please open an issue on "
                "Github. Give both the same mask: `masked_tensor(x.get_data(), mask)`."
                + errors.at_user_line()
            )
    return first


def _match(first: Tensor, other: Tensor) -> bool:
    if first.layout is not other.layout or first.shape != other.shape:
        return False
    if first.layout is sparse_coo:
        return first.indices().equal(other.indices()) and first.values().equal(other.values())
    return bool(first.to_dense().equal(other.to_dense()))


def _elementwise(func: Any, args: Any, kwargs: Any) -> Any:
    mask = _same_mask(args)
    data = tree_map(data_of, args)
    sparse = next((x for x in data if isinstance(x, Tensor) and x.layout is mask.layout), None)
    if mask.layout is not strided and sparse is not None:
        return _of_values(func, args, data, kwargs, sparse, mask)
    if getattr(func, "inplace", False):
        if not is_masked_tensor(args[0]):
            raise TypeError(
                f"{func.__name__}: a tensor without a mask cannot take masked elements. Fill them "
                "first: `x.to_tensor(0)`." + errors.at_user_line()
            )
        func(*data, **kwargs)
        return args[0]
    result = func(*data, **kwargs)
    return made(result, mask.expand_as(result) if mask.shape != result.shape else mask)


def _of_values(func: Any, args: Any, data: Any, kwargs: Any, sparse: Tensor, mask: Tensor) -> Any:
    """The same of sparse data: of their values, which are at the same places."""
    values = [x.values() if isinstance(x, Tensor) and x.layout is mask.layout else x for x in data]
    result = func(*values, **kwargs)
    if getattr(func, "inplace", False):
        return args[0]
    return made(with_values(sparse, result), mask)


def _moving(func: Any, args: Any, kwargs: Any) -> Any:
    """The same for data and masks."""
    if func.op.name in ("cat", "stack") and not all(map(is_masked_tensor, args)):
        raise TypeError(
            "mask must have dtype bool: a tensor without a mask is joined to one with a mask. Give "
            "it one: `as_masked_tensor(x, clew.ones_like(x, dtype=clew.bool))`."
            + errors.at_user_line()
        )
    data = func(*tree_map(data_of, args), **kwargs)
    if "dtype" in kwargs:
        kwargs = {**kwargs, "dtype": None}
    mask = func(*tree_map(mask_of, args), **kwargs)
    if isinstance(data, tuple | list):
        return type(data)(map(_copied, data, mask))
    return _copied(data, mask)


def _copied(data: Tensor, mask: Tensor) -> MaskedTensor:
    return made(data.clone(), mask.clone())


def _softmax(func: Any, args: Any, kwargs: Any) -> Any:
    self = args[0]
    result = masked.softmax(self._masked_data, kwargs["dim"], mask=self._masked_mask)
    return made(result, self._masked_mask)


def _softmax_backward(func: Any, args: Any, kwargs: Any) -> Any:
    """What is absent adds nothing to the sum that all others share."""
    mask = _same_mask(args)
    data = [x._masked_data.where(mask, 0) if is_masked_tensor(x) else x for x in args]
    return made(func(*data, **kwargs), mask)


def _reduced(func: Any, args: Any, kwargs: Any) -> Any:
    """Sums of operations that are inside of others, or of backward."""
    self = args[0]
    data, mask = self._masked_data, self._masked_mask
    dims, keepdim = kwargs.get("dims"), kwargs.get("keepdim", False)
    function = getattr(masked, _SUMS[func.op.name])
    result = function(data, dims, keepdim=keepdim, mask=mask)
    found = reduced_dims(dims, mask.ndim)
    return made(result, mask.any(found, keepdim) if found else mask)


def _copy(func: Any, args: Any, kwargs: Any) -> Any:
    target, source = args[0], args[1]
    if not is_masked_tensor(target):
        raise TypeError(
            "copy_: a tensor without a mask cannot take masked elements. Fill them first: "
            "`x.to_tensor(0)`." + errors.at_user_line()
        )
    if is_masked_tensor(source):
        _same_mask(args)
    target._masked_data.copy_(data_of(source))
    return target


def _other(func: Any, args: Any, kwargs: Any) -> Any:
    op = getattr(func, "op", None)
    name = getattr(op, "name", None) or func.__name__.partition(".")[0]
    if isinstance(op, Elementwise) or name in _ELEMENTWISE:
        return _elementwise(func, args, kwargs)
    if getattr(op, "is_view", False) or name in _MOVING:
        return _moving(func, args, kwargs)
    warnings.warn(
        f"{func.__name__.partition('.')[0]} is not implemented in __torch_dispatch__ for "
        "MaskedTensor. Where absent elements have a value that does not matter, "
        "`x.to_tensor(value)` is a plain tensor.",
        UserWarning,
        stacklevel=user_stacklevel(),
    )
    return NotImplemented


def register() -> None:
    """Fill the table of operations."""
    table: dict[str, Callable[..., Any]] = {
        "softmax": _softmax, "_softmax_backward_data": _softmax_backward, "copy": _copy,
        **dict.fromkeys(_SUMS, _reduced),
    }  # fmt: skip
    OPERATIONS.update(table)
    OTHERS[:] = [_other]
