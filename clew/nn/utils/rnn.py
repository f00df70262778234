"""Sequences of different lengths: packed without padding, and padded to one length."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.tensor import Tensor, wrap
from clew.ops.shape.joining import cat

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpad_sequence",
    "pack_sequence",
    "unpack_sequence",
]


class PackedSequence_(NamedTuple):
    """The fields of a packed batch."""

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(PackedSequence_):
    """A batch of sequences without padding: the rows of the first step, of the second, ...

    Recurrent layers take and return it. `pack_sequence` and `pack_padded_sequence` make it. The
    sequences are sorted by length, longest first.

    Args:
        data: the rows
        batch_sizes: how many rows each step has
        sorted_indices: how the sequences were sorted; None if they came sorted
        unsorted_indices: the way back to the order in which they came

    Example:
        >>> packed = nn.utils.rnn.pack_sequence([clew.tensor([1, 2, 3]), clew.tensor([4, 5])])
        >>> packed.data
        tensor([1, 4, 2, 5, 3])
        >>> packed.batch_sizes
        tensor([2, 2, 1])
    """

    def __new__(
        cls,
        data: Any,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError(
                    "Expected data to be a list or tuple of length 2\n  Write PackedSequence(data, "
                    "batch_sizes), or make one with pack_padded_sequence." + errors.at_user_line()
                )
            data, batch_sizes = data
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The same with its data in another dtype or on another device."""
        if "copy" in kwargs:
            raise RuntimeError(".to() does not accept copy argument" + errors.at_user_line())
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else type(self)(data, *self[1:])

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        return self.to(*args, device="cuda", **kwargs)

    def cpu(self, *args: Any, **kwargs: Any) -> PackedSequence:
        return self.to(*args, device="cpu", **kwargs)

    def pin_memory(self) -> PackedSequence:
        return type(self)(self.data.pin_memory(), *self[1:])

    def is_pinned(self) -> bool:
        return bool(self.data.is_pinned())

    @property
    def is_cuda(self) -> bool:
        return bool(self.data.is_cuda)

    def double(self) -> PackedSequence:
        return self.to(dtypes.float64)

    def float(self) -> PackedSequence:
        return self.to(dtypes.float32)

    def half(self) -> PackedSequence:
        return self.to(dtypes.float16)

    def long(self) -> PackedSequence:
        return self.to(dtypes.int64)

    def int(self) -> PackedSequence:
        return self.to(dtypes.int32)

    def short(self) -> PackedSequence:
        return self.to(dtypes.int16)

    def char(self) -> PackedSequence:
        return self.to(dtypes.int8)

    def byte(self) -> PackedSequence:
        return self.to(dtypes.uint8)


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes another.

    Args:
        permutation: indices, each once; None is returned as it is

    Example:
        >>> nn.utils.rnn.invert_permutation(clew.tensor([2, 0, 1]))
        tensor([1, 2, 0])
    """
    return None if permutation is None else wrap(np.argsort(permutation._array))


# -- packing -------------------------------------------------------------------------------


def pack_padded_sequence(
    input: Tensor,
    lengths: Tensor | Sequence[int],
    batch_first: bool = False,
    enforce_sorted: bool = True,
) -> PackedSequence:
    """Pack padded sequences (T, N, ...), or (N, T, ...) with `batch_first`, of known lengths.

    Args:
        input: the padded sequences
        lengths: the length of each, a tensor or a list
        batch_first: whether the batch is the first dimension
        enforce_sorted: refuse sequences that do not come longest first; False sorts them

    Example:
        >>> padded = clew.tensor([[1, 2, 3], [4, 5, 0]])
        >>> nn.utils.rnn.pack_padded_sequence(padded, [3, 2], batch_first=True).data
        tensor([1, 4, 2, 5, 3])
    """
    counts = lengths._array if isinstance(lengths, Tensor) else np.asarray(lengths)
    counts = counts.astype(np.int64)
    order = None
    if not enforce_sorted:
        order = np.argsort(-counts, kind="stable")
        counts = counts[order]
        input = input.index_select(0 if batch_first else 1, wrap(order))
    if batch_first:
        input = input.transpose(0, 1)
    _check_lengths(input, counts, batch_first)
    batch_sizes = np.count_nonzero(counts[:, None] > np.arange(counts[0]), axis=0)
    length, batch, *rest = input._array.shape
    steps, members = _row_places(batch_sizes)
    rows = input.reshape(length * batch, *rest)
    packed = rows.index_select(0, wrap(steps * batch + members))
    return PackedSequence(packed, wrap(batch_sizes), None if order is None else wrap(order))


def _row_places(batch_sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of every packed row: its step, and its sequence."""
    steps = np.repeat(np.arange(len(batch_sizes)), batch_sizes)
    firsts = np.cumsum(batch_sizes) - batch_sizes
    return steps, np.arange(len(steps)) - firsts[steps]


def _check_lengths(input: Tensor, counts: np.ndarray, batch_first: bool) -> None:
    if not input._array.size:
        raise RuntimeError("Cannot pack empty tensors." + errors.at_user_line())
    if input._array.ndim < 2:
        raise errors.dimension_out_of_range(1, input._array.ndim)
    if counts.ndim != 1:
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {counts.ndim}D cpu Long "
            "tensor" + errors.at_user_line()
        )
    length, batch = input._array.shape[:2]
    if len(counts) != batch:
        hint = "" if batch_first else "\n  With (batch, time, ...) input, pass batch_first=True."
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(counts)} "
            f"(batch_size={batch}){hint}" + errors.at_user_line()
        )
    if (counts[1:] > counts[:-1]).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You "
            "can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to "
            "sidestep this requirement." + errors.at_user_line()
        )
    if counts[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            "that is <= 0" + errors.at_user_line()
        )
    if counts[0] > length:
        raise RuntimeError(
            f"A length of {counts[0]} is longer than the padded input, which has {length} steps"
            + errors.at_user_line()
        )


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Padded sequences and their lengths, in the order in which they were packed.

    Args:
        sequence: a `PackedSequence`
        batch_first: whether the batch becomes the first dimension
        padding_value: what fills the shorter sequences
        total_length: the length to pad to; None is that of the longest

    Example:
        >>> packed = nn.utils.rnn.pack_sequence([clew.tensor([1, 2, 3]), clew.tensor([4, 5])])
        >>> nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
        (tensor([[1, 2, 3],
                [4, 5, 0]]), tensor([3, 2]))
    """
    batch_sizes = sequence.batch_sizes._array
    if not batch_sizes.size:
        raise RuntimeError("batch_sizes can not be empty" + errors.at_user_line())
    length, batch = len(batch_sizes), int(batch_sizes[0])
    if total_length is not None:
        if total_length < length:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, "
                f"but got total_length={total_length} and max sequence length being {length}"
                + errors.at_user_line()
            )
        length = total_length
    steps, members = _row_places(batch_sizes)
    padded = _spread(sequence.data, steps * batch + members, length, batch, padding_value)
    counts = np.count_nonzero(batch_sizes[:, None] > np.arange(batch), axis=0)
    back = sequence.unsorted_indices
    if back is not None:
        padded, counts = padded.index_select(1, back), counts[back._array]
    return padded.transpose(0, 1) if batch_first else padded, wrap(counts)


def _spread(data: Tensor, places: np.ndarray, first: int, second: int, padding: float) -> Tensor:
    """Rows put into a tensor (first, second, ...) of padding."""
    rest = data._array.shape[1:]
    flat = data.new_full((first * second, *rest), padding)
    result: Tensor = flat.index_copy(0, wrap(places), data).view(first, second, *rest)
    return result


# -- padding -------------------------------------------------------------------------------


def pad_sequence(
    sequences: Iterable[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences (length, ...) as one tensor (T, N, ...), or (N, T, ...) with `batch_first`.

    Args:
        sequences: tensors that differ in their first dimension at most
        batch_first: whether the batch becomes the first dimension
        padding_value: what fills the shorter sequences
        padding_side: where it goes: "right" or "left"

    Example:
        >>> nn.utils.rnn.pad_sequence([clew.tensor([1, 2, 3]), clew.tensor([4])], batch_first=True)
        tensor([[1, 2, 3],
                [4, 0, 0]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}" + errors.at_user_line()
        )
    parts = list(sequences.unbind(0) if isinstance(sequences, Tensor) else sequences)
    if not parts:
        raise RuntimeError("received an empty list of sequences" + errors.at_user_line())
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"Expected padding_side to be one of left or right, but got {padding_side}."
            + errors.at_user_line()
        )
    _check_alike(parts)
    lengths = np.array([len(part) for part in parts])
    longest, batch = int(lengths.max()), len(parts)
    members = np.repeat(np.arange(batch), lengths)
    steps = np.arange(len(members)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    if padding_side == "left":
        steps = steps + np.repeat(longest - lengths, lengths)
    rows = cat([part.to(parts[0].dtype) for part in parts])
    if batch_first:
        return _spread(rows, members * longest + steps, batch, longest, padding_value)
    return _spread(rows, steps * batch + members, longest, batch, padding_value)


def _check_alike(parts: list[Tensor]) -> None:
    rest = parts[0]._array.shape[1:]
    for number, part in enumerate(parts):
        if not part._array.ndim:
            raise RuntimeError(
                f"ArrayRef: invalid slice\n  Sequence {number} is a single number; it needs a "
                "dimension to be padded along." + errors.at_user_line()
            )
        have = part._array.shape[1:]
        if have != rest:
            raise RuntimeError(
                "The size of tensor a must match the size of tensor b beyond the first dimension\n"
                f"  Sequence 0 has {errors.shape_list(rest)} there, and sequence {number} "
                f"{errors.shape_list(have)}." + errors.at_user_line()
            )


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor | Sequence[int], batch_first: bool = False
) -> list[Tensor]:
    """The sequences that a padded tensor was made of.

    Args:
        padded_sequences: what `pad_sequence` gives
        lengths: the length of each sequence
        batch_first: whether the batch is the first dimension

    Example:
        >>> padded = clew.tensor([[1, 2, 3], [4, 0, 0]])
        >>> nn.utils.rnn.unpad_sequence(padded, clew.tensor([3, 1]), batch_first=True)
        [tensor([1, 2, 3]), tensor([4])]
    """
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    counts = lengths.tolist() if isinstance(lengths, Tensor) else lengths
    return [part[:count] for part, count in zip(padded_sequences.unbind(0), counts, strict=True)]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Sequences of different lengths, packed.

    Args:
        sequences: tensors that differ in their first dimension at most
        enforce_sorted: refuse sequences that do not come longest first; False sorts them

    Example:
        >>> nn.utils.rnn.pack_sequence([clew.tensor([1, 2, 3]), clew.tensor([4, 5])]).data
        tensor([1, 4, 2, 5, 3])
    """
    lengths = [len(sequence) for sequence in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences that were packed.

    Args:
        packed_sequences: a `PackedSequence`

    Example:
        >>> packed = nn.utils.rnn.pack_sequence([clew.tensor([1, 2, 3]), clew.tensor([4, 5])])
        >>> nn.utils.rnn.unpack_sequence(packed)
        [tensor([1, 2, 3]), tensor([4, 5])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
