"""Attention over arrays, in blocks of queries: the whole matrix of scores is never held.

Each block's scores fit the processor's cache. Of a row of weights only the logarithm of its
normaliser is kept; backward computes the scores of a block again.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from clew.backend.mt19937 import Generator, default_generator
from clew.kernels import compiled
from clew.kernels.codegen.ir import F32, F64, I32, where
from clew.kernels.codegen.ir import position as key_position
from clew.kernels.codegen.ufunc import over_rows
from clew.kernels.gemm.products import batch_product
from clew.kernels.numpy.arrays import widened

Array = np.ndarray
Shape = tuple[int, ...]

# Bytes of scores that are computed at a time, and the rows that a block has at least: matrix
# products of fewer are slow.
AT_ONCE = 2 << 20
FEWEST_ROWS = 64
# A causal block computes scores above the diagonal, too: half of its rows times its rows.
MOST_CAUSAL_ROWS = 128

# Below every score. (Not infinity, which compilers fold into a form that has no vectors.)
_LOWEST = {F32: float(np.finfo(np.float32).min), F64: float(np.finfo(np.float64).min)}
_FORWARD_TYPES = [([t, I32], [t, t, t]) for t in (F32, F64)]
_BACKWARD_TYPES = [([t, t, t, t, I32], [t, t]) for t in (F32, F64)]


@over_rows("attention_weights", "(n),()->(n),(),()", cost=6, types=_FORWARD_TYPES)
def _WEIGHTS_KERNEL(scores: Any, visible: Any) -> Any:
    """The weights of the first `visible` keys, what makes their sum 1, and its logarithm."""
    lowest, is_visible = _LOWEST[scores.dtype], key_position(I32) < visible
    peak = where(is_visible, scores, lowest).row_max()
    peak = where(peak < lowest, lowest, peak)
    weights = where(is_visible, (scores - peak).exp_of_negative(), 0.0)
    total = weights.row_sum()
    # A row without a single key gets no weight anywhere, and its normaliser is infinite.
    empty = total.eq(0.0)
    share = where(empty, 0.0, 1.0 / total)
    return weights, share, where(empty, math.inf, total.log() + peak)


@over_rows("attention_backward", "(n),(n),(),(),()->(n),(n)", cost=5, types=_BACKWARD_TYPES)
def _GRADIENT_KERNEL(
    scores: Any, of_weights: Any, normaliser: Any, along: Any, visible: Any
) -> Any:
    """The weights again, and the gradient of the scores."""
    weights = where(key_position(I32) < visible, (scores - normaliser).exp_of_negative(), 0.0)
    return weights, weights * (of_weights - along)


@functools.cache
def attention_kernel(is_causal: bool, backward: bool) -> compiled.attention.Attention:
    """The kernel of attention without mask and dropout, or of its gradients."""
    name = f"attention{'_causal' * is_causal}{'_gradients' * backward}"
    rows = _GRADIENT_KERNEL if backward else _WEIGHTS_KERNEL
    return compiled.attention.Attention(name, rows, is_causal, backward)


class Block(NamedTuple):
    """Some queries, and how many keys they may look at."""

    at: tuple[slice, slice, slice]
    keys: int

    def of_keys(self, array: Array) -> Array:
        """The part of keys or values that this block's queries look at."""
        return array[self.at[0], self.at[1], : self.keys]

    def of_scores(self, array: Array) -> Array:
        """The part of an array with an element for each score."""
        return array[(*self.at, slice(self.keys))]

    def visible(self, is_causal: bool, rows: int) -> Array:
        """How many of the keys each query sees."""
        if not is_causal:
            return np.full(rows, self.keys, np.int32)
        first = self.at[2].start + 1
        return np.minimum(np.arange(first, first + rows, dtype=np.int32), self.keys)


def blocks(shape: Shape, itemsize: int, is_causal: bool) -> Iterator[Block]:
    """Cuts scores of a shape into blocks, in the order in which they would lie in memory."""
    batch, heads, queries, keys = shape
    most = AT_ONCE // itemsize
    rows = max(FEWEST_ROWS, most // keys)
    if is_causal:
        rows = min(rows, MOST_CAUSAL_ROWS)
    heads_at_once = max(1, most // (queries * keys)) if rows >= queries else 1
    batch_at_once = max(1, most // (heads * queries * keys)) if heads_at_once >= heads else 1
    for at in product(
        _slices(batch, batch_at_once), _slices(heads, heads_at_once), _slices(queries, rows)
    ):
        yield Block(at, min(at[2].stop, keys) if is_causal else keys)


def _slices(size: int, step: int) -> list[slice]:
    return [slice(start, min(start + step, size)) for start in range(0, size, step)]


class Dropout:
    """The factors by which dropout multiplies the weights, block after block.

    The numbers are those that dropout draws for all weights at once.
    """

    def __init__(self, p: float, generator: Generator, dtype: np.dtype[Any], keys: int) -> None:
        self.p, self.generator, self.dtype, self.keys = p, generator, dtype, keys
        self.scale = dtype.type(1) / dtype.type(1 - p)

    def factors(self, shape: Shape) -> Array:
        """Those of the next rows, for the keys that the rows look at."""
        draws = self.generator.doubles(math.prod(shape[:-1]) * self.keys)
        kept = draws.reshape(*shape[:-1], self.keys)[..., : shape[-1]] < 1 - self.p
        return kept * self.scale


class Scores:
    """The scores of one block after another, and memory to compute them in."""

    def __init__(
        self, query: Array, key: Array, attn_mask: Array | None, is_causal: bool, scale: float
    ) -> None:
        self.query, self.key, self.is_causal = query, key, is_causal
        self.scale = query.dtype.type(scale)
        self.shape = (*query.shape[:3], key.shape[2])
        self.mask = None if attn_mask is None else np.broadcast_to(attn_mask, self.shape)
        self.blocks = list(blocks(self.shape, query.dtype.itemsize, is_causal))

    def scratch(self) -> Array:
        """Memory for the scores of any of the blocks."""
        largest = max(math.prod(self.shape_of(block)) for block in self.blocks)
        return np.empty(largest, self.query.dtype)

    def shape_of(self, block: Block) -> Shape:
        sizes = [each.stop - each.start for each in block.at]
        return (*sizes, block.keys)

    def products(self, block: Block, left: Array, right: Array, scratch: Array) -> Array:
        """A number for each score: queries' rows times keys' rows."""
        shape = self.shape_of(block)
        place = scratch[: math.prod(shape)].reshape(shape)
        return batch_product(left, block.of_keys(right).swapaxes(-1, -2), place)

    def of(self, block: Block, scaled_query: Array, scratch: Array) -> Array:
        scores = self.products(block, scaled_query, self.key, scratch)
        if self.mask is None:
            return scores
        mask = block.of_scores(self.mask)
        if mask.dtype.kind == "b":
            np.copyto(scores, -math.inf, where=~mask)
        else:
            scores += mask
        return scores


def _heads_together(like: Array, size: int) -> Array:
    """New memory in which the heads of a position lie together, as in the layers around it."""
    batch, heads, positions, _ = like.shape
    return np.empty((batch, positions, heads, size), like.dtype).swapaxes(1, 2)


def attention(
    query: Array,
    key: Array,
    value: Array,
    attn_mask: Array | None,
    *,
    is_causal: bool,
    scale: float,
    dropout_p: float,
    generator: Generator | None,
) -> tuple[Array, Array]:
    """The result, and the logarithm of each row's normaliser.

    `generator` is where the random stream stands now: backward draws the same numbers from it.
    """
    dtype = query.dtype
    if attn_mask is None and generator is None:
        ufunc = attention_kernel(is_causal, backward=False).specialize(query)
        if ufunc is not None:
            out = np.empty_like(query, shape=(*query.shape[:3], value.shape[3]))
            return ufunc(query, key, value, dtype.type(scale), out=(out, None))
    query, key, value = widened(query), widened(key), widened(value)
    kernel: Any = _WEIGHTS_KERNEL.specialize(query)
    scores = Scores(query, key, attn_mask, is_causal, scale)
    scratch = scores.scratch()
    dropout = _dropout(dropout_p, generator and default_generator, scores)
    out = np.empty_like(query, shape=(*query.shape[:3], value.shape[3]))
    normaliser = np.empty(query.shape[:3], query.dtype)
    for block in scores.blocks:
        found = scores.of(block, query[block.at] * scores.scale, scratch)
        visible = block.visible(is_causal, found.shape[-2])
        weights, share, normaliser[block.at] = kernel(found, visible, out=(found, None, None))
        if dropout is not None:
            weights *= dropout.factors(weights.shape)
        # In low precision the weights are rounded before the product, as PyTorch's kernel does it.
        rounded = widened(weights.astype(dtype, copy=False))
        batch_product(rounded, block.of_keys(value), out[block.at])
        out[block.at] *= share[..., None]
    return out.astype(dtype, copy=False), normaliser


def gradients(
    grad: Array,
    query: Array,
    key: Array,
    value: Array,
    attn_mask: Array | None,
    out: Array,
    normaliser: Array,
    *,
    mask_needs: bool,
    is_causal: bool,
    scale: float,
    dropout_p: float,
    generator: Generator | None,
) -> tuple[Array, Array, Array, Array | None]:
    """The gradients of query, key, value and, where it is wanted, of the mask."""
    if attn_mask is None and generator is None:
        ufunc = attention_kernel(is_causal, backward=True).specialize(query)
        if ufunc is not None:
            places = tuple(_heads_together(each, each.shape[3]) for each in (query, key, value))
            factor = query.dtype.type(scale)
            return (*ufunc(grad, query, key, value, out, normaliser, factor, out=places), None)
    grad, query, key, value, out = map(widened, (grad, query, key, value, out))
    kernel: Any = _GRADIENT_KERNEL.specialize(query)
    scores = Scores(query, key, attn_mask, is_causal, scale)
    scratch, more = scores.scratch(), scores.scratch()
    dropout = _dropout(dropout_p, generator, scores)
    of_query, of_key, of_value = (
        _heads_together(each, each.shape[3]) for each in (query, key, value)
    )
    of_mask = (
        np.zeros(attn_mask.shape, query.dtype) if mask_needs and attn_mask is not None else None
    )
    heads: tuple[slice, ...] = ()
    # The last queries first: under a causal mask only they see all keys.
    for block in scores.blocks if dropout is not None else reversed(scores.blocks):
        is_first, heads = heads != block.at[:2], block.at[:2]
        scaled, gradient = query[block.at] * scores.scale, grad[block.at]
        found = scores.of(block, scaled, scratch)
        of_weights = scores.products(block, gradient, value, more)
        factors = None if dropout is None else dropout.factors(found.shape)
        if factors is not None:
            of_weights *= factors
        weights, of_scores = kernel(
            found, of_weights, normaliser[block.at], np.vecdot(gradient, out[block.at]),
            block.visible(is_causal, found.shape[-2]), out=(found, of_weights),
        )  # fmt: skip
        if factors is not None:
            weights *= factors
        if of_mask is not None:
            _add_to_mask(of_mask, block, of_scores)
        part = batch_product(of_scores, block.of_keys(key), of_query[block.at])
        part *= scores.scale
        _accumulate(of_key, block, of_scores, scaled, is_first)
        _accumulate(of_value, block, weights, gradient, is_first)
    return of_query, of_key, of_value, of_mask


def _dropout(p: float, generator: Generator | None, scores: Scores) -> Dropout | None:
    return None if generator is None else Dropout(p, generator, scores.query.dtype, scores.shape[3])


def _accumulate(totals: Array, block: Block, weights: Array, rows: Array, is_first: bool) -> None:
    """Give each key its part of the block's rows, beside what earlier blocks gave it."""
    transposed, total = weights.swapaxes(-1, -2), block.of_keys(totals)
    if is_first and block.keys == totals.shape[2]:
        batch_product(transposed, rows, total)
        return
    if is_first:
        totals[block.at[:2]] = 0
    total += batch_product(transposed, rows)


def _add_to_mask(of_mask: Array, block: Block, of_scores: Array) -> None:
    """A mask that serves several batches, heads or positions gets the sum of their gradients."""
    shape = (1,) * (4 - of_mask.ndim) + of_mask.shape
    shared = tuple(axis for axis, size in enumerate(shape) if size == 1)
    places = [*block.at, slice(block.keys)]
    for axis in shared:
        places[axis] = slice(None)
    of_mask.reshape(shape)[tuple(places)] += of_scores.sum(shared, keepdims=True)
