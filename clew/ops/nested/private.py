"""What packages call by PyTorch's private names."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew import errors
from clew.core.tensor import Tensor
from clew.ops.nested.construction import as_nested_tensor, view_from_jagged
from clew.ops.nested.cuts import Jagged, Pieces
from clew.ops.nested.padding import from_padded
from clew.ops.nested.tensor import constant, nested, of_components, of_values, values_of
from clew.ops.shape.joining import cat


def _nested_tensor_from_mask(t: Tensor, mask: Tensor, mask_check: bool = True) -> Tensor:
    """Of each row of a padded tensor the elements before its padding, in the strided layout."""
    lengths = mask._array.sum(1).tolist()
    if mask_check and not _nested_tensor_from_mask_left_aligned(t, mask):
        raise RuntimeError(
            "Mask must be left-aligned without gaps\n  No element is true after one that is not."
            + errors.at_user_line()
        )
    return of_components([row[:n] for row, n in zip(t.unbind(), lengths, strict=True)])


def _nested_tensor_from_mask_left_aligned(t: Tensor, mask: Tensor) -> bool:
    """Whether no element of a mask is true after one that is not."""
    rows = mask._array
    return not bool((rows[:, 1:] & ~rows[:, :-1]).any())


def _nested_view_from_buffer(
    buffer: Tensor, nested_size: Tensor, nested_strides: Tensor, offsets: Tensor
) -> Tensor:
    """A nested tensor of the strided layout over flat memory, whose components have no gaps."""
    shapes = nested_size._array.tolist()
    cuts = Pieces(shapes)
    ends = np.cumsum(cuts.sizes)
    begin = offsets._array
    if begin.tolist() == [0, *ends[:-1].tolist()][: len(begin)]:
        return nested(buffer[: int(ends[-1])] if len(ends) else buffer, cuts)
    pieces = zip(begin.tolist(), cuts.sizes, strict=True)
    return nested(cat([buffer[start : start + n] for start, n in pieces]), cuts)


def _nested_compute_contiguous_strides_offsets(nested_size: Tensor) -> tuple[Tensor, Tensor]:
    """Strides and places of components without gaps, by their sizes."""
    sizes = nested_size._array
    tails = np.cumprod(sizes[:, ::-1], axis=1)[:, ::-1]
    strides = np.concatenate([tails[:, 1:], np.ones((len(sizes), 1), np.int64)], axis=1)
    ends = np.cumsum(tails[:, 0])
    return constant(strides), constant(np.concatenate([[0], ends[:-1]]).astype(np.int64))


def _nested_tensor_from_tensor_list(
    list: Any, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None
) -> Tensor:
    """Copies of tensors as one nested tensor of the strided layout."""
    return as_nested_tensor(list, dtype, device)


def _nested_get_jagged_dummy(any: Any) -> Tensor:
    """What stands where an operation asks for any nested tensor: it is not looked at."""
    return of_values(constant(np.zeros((0, 1))), Jagged(constant(np.zeros(1, np.int64))))


def _nested_view_from_jagged(
    input: Tensor,
    offsets: Tensor,
    dummy: Any = None,
    lengths: Tensor | None = None,
    ragged_idx: int = 1,
    min_seqlen: Any = None,
    max_seqlen: Any = None,
) -> Tensor:
    """A nested tensor that shares the memory of its values."""
    known = (n if n is None or isinstance(n, int) else n.shape[0] for n in (min_seqlen, max_seqlen))
    return view_from_jagged(input, offsets, lengths, ragged_idx, *known)


def _nested_from_padded_tensor(
    padded: Tensor,
    offsets: Tensor,
    dummy: Any = None,
    ragged_idx: int = 1,
    min_seqlen: Any = None,
    max_seqlen: Any = None,
    sum_S: int | None = None,
) -> Tensor:
    """The components of a padded tensor, as long as offsets say."""
    cuts = Jagged(offsets, None, ragged_idx)
    return nested(from_padded(padded, cuts), cuts)


def _nested_get_values(self: Any) -> Tensor:
    """The values of a nested tensor."""
    return values_of(self)


def _nested_get_offsets(self: Any) -> Tensor:
    """Where its components begin."""
    offsets: Tensor = self._cuts.offsets
    return offsets


def _nested_get_lengths(self: Any) -> Tensor | None:
    """How long they are, where there are gaps."""
    lengths: Tensor | None = self._cuts.lengths
    return lengths


def _nested_get_ragged_idx(self: Any) -> int:
    """Its ragged dimension."""
    ragged: int = self._cuts.ragged
    return ragged
