"""Between jagged values and padded tensors: each row of the values has a place in a flat tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew import errors
from clew.core.tensor import Tensor
from clew.ops.nested.cuts import Jagged, Pieces
from clew.ops.nested.tensor import both, components, constant, jagged, strided, values_of
from clew.ops.shape.joining import stack


def rows(cuts: Jagged) -> tuple[np.ndarray, np.ndarray]:
    """Of each row of the values that is in a component: which component, and where in it."""
    sizes = cuts.sizes
    batch = np.repeat(np.arange(cuts.count), sizes)
    place = np.arange(len(batch)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return batch, place


def repeated(dense: Tensor, cuts: Jagged, total: int) -> Tensor:
    """Values of what has a batch and, at the ragged dimension, one row for all or one for each."""
    length = dense._layout.shape[cuts.ragged]
    if length != 1 and length != cuts.greatest:
        raise RuntimeError(
            f"The expanded size of the tensor ({cuts.extreme('max_seqlen')}) must match the "
            f"existing size ({length}) at non-singleton dimension {cuts.ragged}."
            + errors.at_user_line()
        )
    batch, place = rows(cuts)
    index = batch if length == 1 else batch * length + place
    if cuts.lengths is not None or len(index) != total:
        where = np.zeros(total, np.int64)
        where[np.repeat(cuts.starts, cuts.sizes) + place] = index
        index = where
    return _from_flat(_flat(dense, cuts.ragged), index, cuts.ragged)


def _flat(padded: Tensor, ragged: int) -> Tensor:
    """The batch and the ragged dimension as one, in front."""
    return padded.movedim(ragged, 1).flatten(0, 1)


def _from_flat(flat: Tensor, index: np.ndarray, ragged: int) -> Tensor:
    return flat.index_select(0, constant(index)).movedim(0, ragged - 1)


def from_padded(padded: Tensor, cuts: Jagged) -> Tensor:
    """The values that a padded tensor has for these components, which have no gaps."""
    batch, place = rows(cuts)
    length = padded._layout.shape[cuts.ragged]
    return _from_flat(_flat(padded, cuts.ragged), batch * length + place, cuts.ragged)


def to_padded(tensor: Any, padding: Any, length: int | None = None) -> Tensor:
    """A strided tensor with the components side by side, filled up to one length."""
    cuts: Jagged = tensor._cuts
    values = values_of(tensor).movedim(cuts.ragged - 1, 0)
    length = cuts.greatest if length is None else length
    batch, place = rows(cuts)
    if cuts.count and length < cuts.greatest:
        kept = np.flatnonzero(place < length)
        values, batch, place = values.index_select(0, constant(kept)), batch[kept], place[kept]
    inner = values._layout.shape[1:]
    empty = values.new_full((cuts.count * length, *inner), padding)
    filled = empty.index_copy(0, constant(batch * length + place), values)
    return filled.unflatten(0, (cuts.count, length)).movedim(1, cuts.ragged)


@jagged("to_padded_tensor", "nested_to_padded_tensor")
def padded_jagged(plain: Any, input: Any, padding: float, output_size: Any = None) -> Tensor:
    """The components side by side; without a known greatest length, as long as all together."""
    cuts: Jagged = input._cuts
    if cuts.lengths is not None:
        raise RuntimeError(
            "to_padded_tensor(): not supported for nested tensors with holes"
            + errors.at_user_line()
        )
    if output_size is not None:
        return to_padded(input, padding, int(output_size[cuts.ragged]))
    known = cuts.known.get("max_seqlen")
    return to_padded(input, padding, len(values_of(input)) if known is None else known)


@strided("to_padded_tensor", "nested_to_padded_tensor")
def padded_strided(plain: Any, input: Any, padding: float, output_size: Any = None) -> Tensor:
    """The components side by side, each filled up to the greatest size of every dimension."""
    cuts: Pieces = input._cuts
    if not cuts.count:
        raise RuntimeError(
            "at least one constituent tensor should have non-zero numel" + errors.at_user_line()
        )
    wanted = tuple(max(sizes) for sizes in zip(*cuts.shapes, strict=True))
    if output_size is not None:
        if len(output_size) != len(wanted) + 1:
            raise RuntimeError(
                "Length of output_size does not match NestedTensor dims. Broadcasting is not "
                "supported." + errors.at_user_line()
            )
        if any(n < least for n, least in zip(output_size[1:], wanted, strict=True)):
            raise RuntimeError(
                "Value in output_size is less than NestedTensor padded size. Truncation is not "
                "supported." + errors.at_user_line()
            )
        wanted = tuple(output_size[1:])
    return stack([_filled(each, wanted, padding) for each in components(input)])


def _filled(tensor: Tensor, shape: tuple[int, ...], padding: float) -> Tensor:
    result = tensor.new_full(shape, padding)
    result[tuple(slice(n) for n in tensor._layout.shape)] = tensor
    return result


@both("to_dense")
def to_dense(plain: Any, self: Any, dtype: Any = None, *, masked_grad: Any = None) -> Tensor:
    """Refused: `to_padded_tensor` says what the padding is."""
    raise RuntimeError(
        "to_dense does not support layout Jagged\n  to_padded_tensor(padding) does."
        + errors.at_user_line()
    )
