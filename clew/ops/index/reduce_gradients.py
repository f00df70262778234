"""Gradients of reductions into places that an index names: `scatter_reduce`, `index_reduce`."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from clew import errors
from clew.core.op import Op
from clew.core.state import local
from clew.core.tensor import Tensor, every_value
from clew.ops.tensor.copying import zeros


class Places(NamedTuple):
    """How a family of operations reads and writes where its index points."""

    name: str
    source: str
    read: Callable[[Tensor], Tensor]
    add: Callable[[Tensor, Tensor], Tensor]
    multiply: Callable[[Tensor, Tensor], Tensor]
    clear: Callable[[Tensor], Tensor]


def _counted(g: Tensor, src: Tensor, places: Places, include_self: bool) -> Tensor:
    """How many values each result is the mean of."""
    own = zeros(g) + 1 if include_self else zeros(g)
    counts = places.add(own, zeros(src) + 1)
    return counts.masked_fill(counts == 0, 1)


def _prod_gradients(
    g: Tensor, self: Tensor, src: Tensor, out: Tensor, places: Places
) -> tuple[Tensor, Tensor]:
    own = self.masked_fill(self == 0, 1)
    of_self = g * places.multiply(own, src) / own
    zero = src == 0
    zero_count = places.read(places.add(zeros(self), zero.to(src.dtype)))
    single_zero = zero & (zero_count == 1)
    without = places.multiply(self, src.masked_fill(single_zero, 1))
    of_src = places.read(g * without).where(
        single_zero, places.read(g * out) / src.masked_fill(zero, 1)
    )
    if local.state.grad_enabled and every_value(zero & (zero_count > 1)).any():
        of_src = SEVERAL_ZEROS(of_src, name=places.name, source=places.source)
    return of_self, of_src


def _refuse_second(g: Tensor, name: str, source: str) -> Tensor:
    raise RuntimeError(
        f"{name}(): Double backward is unsupported for {source} when >1 zeros in {source} are "
        "scattered to the same position in self" + errors.at_user_line()
    )


# Where two zeros meet, the product's second derivative is not what its first one's formula gives.
SEVERAL_ZEROS = Op(
    "several_zeros",
    lambda self, *, name, source: self.copy(),
    grads={"self": _refuse_second},
    node="DelayedError",
)


def _extreme_gradients(
    g: Tensor, self: Tensor, src: Tensor, out: Tensor, places: Places
) -> tuple[Tensor, Tensor]:
    """Elements that equal the result share its gradient."""
    src_is_result = (src == places.read(out)).to(g.dtype)
    self_is_result = (self == out).to(g.dtype)
    share = g / places.add(self_is_result, src_is_result)
    return self_is_result * share, src_is_result * places.read(share)


def reduce_gradients(
    g: Tensor, self: Tensor, src: Tensor, out: Tensor, reduce: str, include_self: bool,
    places: Places,
) -> tuple[Tensor, None, Tensor]:  # fmt: skip
    """The gradients of `self`, of the index and of `src`."""
    if reduce == "sum":
        of_self, of_src = g, places.read(g)
    elif reduce == "mean":
        share = g / _counted(g, src, places, include_self)
        of_self, of_src = share, places.read(share)
    elif reduce == "prod":
        of_self, of_src = _prod_gradients(g, self, src, out, places)
    else:
        of_self, of_src = _extreme_gradients(g, self, src, out, places)
    if not include_self:
        of_self = places.clear(of_self)
    return of_self, None, of_src
