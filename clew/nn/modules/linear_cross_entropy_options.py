"""`LinearCrossEntropyOptions`: how a loss over many classes is computed part by part."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from clew import errors
from clew.backend import dtypes
from clew.backend.dtypes import dtype as DType

__all__ = ["LinearCrossEntropyOptions"]


class _AutoDefault(NamedTuple):
    acc_policy: Literal["accurate", "balanced", "compact"]
    chunking_method: str


_ACCURATE = _AutoDefault("accurate", "aspect_ratio")
_COMPACT = _AutoDefault("compact", "aspect_ratio:2")
# What "auto" stands for, by device and dtype; programs may ask for a device that clew has not.
_AUTO_DEFAULTS = {
    ("cuda", dtypes.bfloat16): _COMPACT,
    ("cuda", dtypes.float16): _COMPACT,
    ("cpu", dtypes.bfloat16): _ACCURATE,
    ("cpu", dtypes.float16): _ACCURATE,
}
_AUTO_FALLBACK = _COMPACT
_SUMS = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)


@dataclass(frozen=True, slots=True)
class LinearCrossEntropyOptions:
    """How `LinearCrossEntropyLoss` may split a batch, and in what dtype it sums.

    Where no gradient is wanted, the scores are computed for some rows at a time, so that all of
    them are never in memory. Where one is, they are computed in one piece.

    Args:
        allow_retain_graph: whether backward may run twice; here it always may
        batch_chunk_size: how many rows are computed at a time
        chunking_method: how to find that number: "aspect_ratio", or "aspect_ratio:2" for half of
            it; None for all rows; "auto" chooses by device and dtype
        acc_policy: "accurate", "balanced", "compact" or "auto": here all compute as "accurate" does
        acc_dtype: the dtype to compute in; inputs of 16 bits are computed in float32 at least

    Example:
        >>> nn.LinearCrossEntropyOptions(batch_chunk_size=64).batch_chunk_size
        64
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: Literal["accurate", "balanced", "compact", "auto"] = "auto"
    acc_dtype: DType | None = None

    def __post_init__(self) -> None:
        size = self.batch_chunk_size
        if size is not None and (type(size) is not int or size <= 0):
            raise _wrong(f"batch_chunk_size must be positive int or None, got {size!r}")
        if self.chunking_method not in (None, "auto"):
            _factor(self.chunking_method)
        if self.acc_policy not in ("accurate", "balanced", "compact", "auto"):
            raise _wrong(f"invalid acc_policy: {self.acc_policy!r}")
        if self.acc_dtype is not None and self.acc_dtype not in _SUMS:
            allowed = ", ".join(map(repr, _SUMS))
            raise _wrong(
                f"acc_dtype must be one of {{None, {allowed}}}, got {self.acc_dtype!r}. Pass "
                "acc_dtype=None to let the op pick automatically."
            )

    def _adjust(
        self, num_batches: int, in_features: int, num_classes: int, dtype: DType, device: Any = None
    ) -> LinearCrossEntropyOptions:
        """The same with everything decided, for tensors of these sizes."""
        kind = "" if device is None else device.type
        auto = _AUTO_DEFAULTS.get((kind, dtype), _AUTO_FALLBACK)
        policy = auto.acc_policy if self.acc_policy == "auto" else self.acc_policy
        method = self.chunking_method
        if method == "auto":
            method = None if self.batch_chunk_size is not None else auto.chunking_method
        size = self.batch_chunk_size
        if method is not None:
            found = _rows_at_a_time(num_batches, in_features, num_classes, _factor(method))
            if size not in (None, found):
                raise _wrong(
                    f"batch_chunk_size (={size}) and chunking_method ({method!r}) give different "
                    f"chunk sizes ({size} vs {found}); pass only one."
                )
            size = found
        widened = self.acc_policy == "auto" and auto is _ACCURATE
        return dataclasses.replace(
            self,
            batch_chunk_size=min(size or num_batches, num_batches) or 1,
            chunking_method=method,
            acc_policy=policy,
            acc_dtype=self.acc_dtype or (dtypes.float32 if widened else dtype),
        )


def _factor(method: Any) -> int:
    """2 for "aspect_ratio:2"."""
    kind, colon, number = method.partition(":")
    if kind != "aspect_ratio" or (colon and not (number.isdigit() and int(number) > 0)):
        raise _wrong(f"invalid chunking_method: {method!r}")
    return int(number) if colon else 1


def _rows_at_a_time(rows: int, in_features: int, num_classes: int, factor: int) -> int:
    """So many rows that their scores are about as large as the input, as a power of two."""
    some = -(-rows // -(-num_classes // in_features))
    return max(min(rows, (1 << (some - 1).bit_length()) // factor), 1)


def _wrong(text: str) -> ValueError:
    return ValueError(text + errors.at_user_line())
