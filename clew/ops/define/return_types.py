"""The named tuples that functions with several results return, by the function's name."""

from typing import Any, NamedTuple

from clew.core.tensor import Tensor


class max(NamedTuple):
    values: Tensor
    indices: Tensor


class min(NamedTuple):
    values: Tensor
    indices: Tensor


class aminmax(NamedTuple):
    min: Tensor
    max: Tensor


class median(NamedTuple):
    values: Tensor
    indices: Tensor


class nanmedian(NamedTuple):
    values: Tensor
    indices: Tensor


class mode(NamedTuple):
    values: Tensor
    indices: Tensor


class kthvalue(NamedTuple):
    values: Tensor
    indices: Tensor


class topk(NamedTuple):
    values: Tensor
    indices: Tensor


class sort(NamedTuple):
    values: Tensor
    indices: Tensor


class cummax(NamedTuple):
    values: Tensor
    indices: Tensor


class cummin(NamedTuple):
    values: Tensor
    indices: Tensor


class histogram(NamedTuple):
    hist: Tensor
    bin_edges: Tensor


class histogramdd(NamedTuple):
    hist: Tensor
    bin_edges: tuple[Tensor, ...]


class frexp(NamedTuple):
    mantissa: Tensor
    exponent: Tensor


def _printed(self: Any) -> str:
    fields = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self))
    return f"torch.return_types.{type(self).__name__}(\n{fields})"


_KINDS: tuple[Any, ...] = (
    max, min, aminmax, median, nanmedian, mode, kthvalue, topk, sort, cummax, cummin, histogram,
    histogramdd, frexp,
)  # fmt: skip
for _kind in _KINDS:
    _kind.__repr__ = _printed
