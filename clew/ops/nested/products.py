"""Products, layers and attention over components."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clew import errors
from clew.core.size import SymInt
from clew.core.tensor import Tensor
from clew.ops.nested.cuts import Jagged
from clew.ops.nested.padding import from_padded, rows, to_padded
from clew.ops.nested.pointwise import raggedness_matches
from clew.ops.nested.tensor import (
    NestedTensor,
    components,
    constant,
    contiguous_only,
    each,
    is_nested,
    jagged,
    nested,
    of_components,
    strided,
    values_of,
)
from clew.ops.shape.joining import cat, stack

Plain = Callable[..., Any]

# -- products --------------------------------------------------------------------------------------


def _by_padding(plain: Plain, input: Any, other: Any) -> Tensor:
    """A product of batches, one of them nested, over padded components."""
    one = is_nested(input)
    cuts: Jagged = (input if one else other)._cuts
    if one:
        return nested(from_padded(plain(to_padded(input, 0.0), other), cuts), cuts)
    return nested(from_padded(plain(input, to_padded(other, 0.0)), cuts), cuts)


@jagged("matmul", "__matmul__")
def matmul(plain: Plain, input: Any, other: Any) -> Tensor:
    """Products whose ragged dimension stays, is a batch, or is summed over."""
    ndim, others = input._layout.ndim, other._layout.ndim
    if is_nested(input) and not is_nested(other):
        if input._cuts.ragged < ndim - 1:
            if ndim >= 3 and ndim == others:
                return _by_padding(plain, input, other)
            if others == 2 and ndim > 2:
                return nested(plain(values_of(input), other), input._cuts)
    elif is_nested(other) and not is_nested(input):
        if other._cuts.ragged >= 2:
            if others >= 3 and ndim == others:
                return _by_padding(plain, input, other)
            if ndim == 2 and others > 2:
                return nested(plain(input, values_of(other)), other._cuts)
    elif ndim > 3 and others > 3 and raggedness_matches(input, other.shape):
        return nested(plain(values_of(input), values_of(other)), input._cuts)
    elif (
        ndim == others == 3
        and (input._cuts.ragged, other._cuts.ragged) == (2, 1)
        and input._cuts.length == other._cuts.length
    ):
        pairs = zip(components(input), components(other), strict=True)
        return stack([plain(one, two) for one, two in pairs])
    raise RuntimeError(
        f"matmul(): not supported between inputs of shapes {tuple(input.shape)} and {other.shape}"
        + errors.at_user_line()
    )


@jagged("bmm")
def bmm(plain: Plain, input: Any, mat2: Any) -> Tensor:
    """Products of batches of matrices."""
    for name, operand in (("input", input), ("mat2", mat2)):
        if operand._layout.ndim != 3:
            raise ValueError(f"bmm(): {name} must be 3D" + errors.at_user_line())
    result: Tensor = input.matmul(mat2)
    return result


@strided("matmul", "bmm", "__matmul__")
def matmul_strided(plain: Plain, input: Any, other: Any) -> Tensor:
    """Products of components."""
    if not (is_nested(input) and is_nested(other)):
        words = ["nested" if is_nested(each) else "non-nested" for each in (input, other)]
        raise RuntimeError(
            f"Expected both to be nested, but got a {words[0]} self and {words[1]} other"
            + errors.at_user_line()
        )
    pairs = list(zip(components(input), components(other), strict=True))
    for one, two in pairs:
        if one._layout.shape[-1] != two._layout.shape[-2]:
            raise RuntimeError(
                "matmul: Nested tensors cannot be matrix multiplied, last dimension of self has "
                f"sizes {one._layout.shape[-1]} and second to last dimension of other has sizes "
                f"{two._layout.shape[-2]}" + errors.at_user_line()
            )
    return of_components([one @ two for one, two in pairs])


@jagged("linear")
def linear(plain: Plain, input: Any, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """A linear layer along the last dimension."""
    contiguous_only(input, "linear_default(input: jt, weight: t, bias: t?)", "input")
    return nested(plain(values_of(input), weight, bias), input._cuts)


@strided("linear")
def linear_strided(plain: Plain, input: Any, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """The same of components, whose last dimension has one size."""
    if len({shape[-1] for shape in input._cuts.shapes}) > 1:
        raise RuntimeError(
            "Expected all tensors in nested tensor to have the same trailing dimension, instead "
            f"last dimension equals: {input._cuts.shapes[0][-1]}" + errors.at_user_line()
        )
    return _by_rows(input, lambda values: plain(values, weight, bias))


def _by_rows(tensor: Any, function: Callable[[Tensor], Tensor]) -> Tensor:
    """A function of rows of one size, over all components at once."""
    cuts = tensor._cuts
    rows_of_all = values_of(tensor).reshape(-1, cuts.shapes[0][-1])
    result = function(rows_of_all)
    shapes = [(*shape[:-1], result._layout.shape[-1]) for shape in cuts.shapes]
    return nested(result.reshape(-1), type(cuts)(shapes))


@jagged("conv1d", "conv2d", "conv3d")
def convolution(plain: Plain, input: Any, *args: Any, **kwargs: Any) -> Tensor:
    """A convolution over dimensions behind the ragged one: every row is an image."""
    contiguous_only(input, "convolution_default(input: jt, weight: t, bias: t?, ...)", "input")
    return nested(plain(values_of(input), *args, **kwargs), input._cuts)


# -- layers ----------------------------------------------------------------------------------------


_EMBEDDING = (
    "embedding_default(weight: t, indices: jt, padding_idx: any?, scale_grad_by_freq: any?, "
    "sparse: any?)"
)


@jagged("embedding")
def embedding(plain: Plain, input: Any, weight: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Rows of a table, for nested indices; `torch.embedding` has the table first."""
    if is_nested(weight):
        contiguous_only(weight, _EMBEDDING, "indices")
        return nested(plain(input, values_of(weight), *args, **kwargs), weight._cuts)
    contiguous_only(input, _EMBEDDING, "indices")
    return nested(plain(values_of(input), weight, *args, **kwargs), input._cuts)


@strided("embedding")
def embedding_strided(
    plain: Plain, input: Any, weight: Tensor, *args: Any, **kwargs: Any
) -> Tensor:
    """The same for each component."""
    return each(input, lambda indices: plain(indices, weight, *args, **kwargs))


@jagged("layer_norm")
def layer_norm(
    plain: Plain,
    input: Any,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    *rest: Any,
) -> Tensor:
    """Normalised over the last dimensions; the ragged one may be the first of them."""
    ndim = input._layout.ndim
    if ndim <= 2:
        raise RuntimeError(
            "layer_norm(): not supported for NestedTensor objects with 2 or fewer dimensions"
            + errors.at_user_line()
        )
    over = tuple(normalized_shape)
    if len(over) >= ndim:
        raise RuntimeError(
            "layer_norm(): not supported when normalizing over the batch dimension for NestedTensor"
            + errors.at_user_line()
        )
    if not any(type(n) is SymInt for n in over):
        return nested(plain(values_of(input), over, weight, bias, eps, *rest), input._cuts)
    if input._cuts.lengths is not None:
        raise RuntimeError(
            "layer_norm(): not supported where lengths is not None if operating on the ragged "
            "dimension for NestedTensor" + errors.at_user_line()
        )
    return _normalised_by_component(input, eps)


def _normalised_by_component(input: Any, eps: float) -> Tensor:
    """Each component with mean 0 and variance 1."""
    cuts: Jagged = input._cuts
    values = values_of(input)
    batch = constant(rows(cuts)[0])
    inner = values._layout.shape[1:]
    counts = constant(cuts.sizes * int(np.prod(inner))).to(values.dtype)

    def means(of: Tensor) -> Tensor:
        sums = of.flatten(1).sum(1)
        return sums.new_zeros(cuts.count).index_add(0, batch, sums) / counts

    def spread(numbers: Tensor) -> Tensor:
        return numbers.index_select(0, batch).reshape(-1, *(1,) * len(inner))

    centred = values - spread(means(values))
    return nested(centred / spread((means(centred.square()) + eps).sqrt()), cuts)


@strided("layer_norm")
def layer_norm_strided(
    plain: Plain,
    input: Any,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    *rest: Any,
) -> Tensor:
    """Components normalised over the last dimensions."""
    if weight is None or bias is None:
        raise ValueError("NestedTensor layer_norm requires weight and bias" + errors.at_user_line())
    return each(input, lambda one: plain(one, tuple(normalized_shape), weight, bias, eps, *rest))


@jagged("rms_norm")
def rms_norm(plain: Plain, input: Any, normalized_shape: Any, *rest: Any, **named: Any) -> Tensor:
    """Scaled by the root of the mean square, over dimensions behind the ragged one."""
    if len(normalized_shape) > input._layout.ndim - input._cuts.ragged - 1:
        raise ValueError(
            "rms_norm(): Normalization over the ragged dim not supported for nested tensors"
            + errors.at_user_line()
        )
    return nested(plain(values_of(input), normalized_shape, *rest, **named), input._cuts)


@jagged("masked_select")
def masked_select(plain: Plain, input: Any, mask: Any) -> Tensor:
    """Of each component the elements where a nested mask is true."""
    if input._layout.ndim > 2:
        raise RuntimeError(
            "masked_select only support 2-D selections currently" + errors.at_user_line()
        )
    if input.shape != mask.shape:
        raise RuntimeError(
            f"Mask with shape {mask.shape} is not compatible with input's shape {input.shape}"
            + errors.at_user_line()
        )
    counts = np.concatenate([[0], np.cumsum(mask._parts[0]._array)]).astype(np.int64)
    offsets = constant(counts[input._cuts.offsets._array])
    return nested(plain(values_of(input), mask._parts[0]), Jagged(offsets))


@jagged("frexp")
def frexp(plain: Plain, input: Any) -> Any:
    """Mantissas and exponents."""
    result = plain(values_of(input))
    return type(result)(*[nested(part, input._cuts) for part in result])


# -- attention -------------------------------------------------------------------------------------


def _check_attention(query: Any, key: Any, value: Any, attn_mask: Any) -> None:
    operands = (query, key, value)
    if not all(type(each) is NestedTensor for each in operands):
        listed = [is_nested(each) for each in operands]
        raise ValueError(
            "Expected query, key, and value to be nested tensors, but got query.is_nested: "
            f"{listed[0]}, key.is_nested: {listed[1]}, and value.is_nested: {listed[2]} instead."
            + errors.at_user_line()
        )
    if len({each.dtype for each in operands}) > 1:
        raise ValueError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{query.dtype}, key.dtype: {key.dtype}, and value.dtype: {value.dtype} instead."
            + errors.at_user_line()
        )
    if any(each._layout.ndim < 3 for each in operands):
        raise ValueError(
            "Expected query, key, and value to all be at least 3 dimensional, but got query.dim: "
            f"{query.dim()}, key.dim: {key.dim()} and value.dim: {value.dim()} instead."
            + errors.at_user_line()
        )
    ragged = [each._cuts.ragged for each in operands]
    if len(set(ragged)) > 1:
        raise ValueError(
            "Expected query, key, and value to all be ragged on the same dimension, but got ragged "
            f"dims {ragged[0]}, {ragged[1]}, and {ragged[2]}, respectively." + errors.at_user_line()
        )
    if attn_mask is not None:
        raise ValueError("Masks are not yet supported!" + errors.at_user_line())


@jagged("scaled_dot_product_attention")
def attention(
    plain: Plain, query: Any, key: Any, value: Any, attn_mask: Any = None, *rest: Any, **named: Any
) -> Tensor:
    """Attention within each component: (batch, heads, ragged, features)."""
    _check_attention(query, key, value, attn_mask)
    cuts: Jagged = query._cuts
    if cuts.lengths is not None:
        raise RuntimeError(
            "scaled_dot_product_attention: queries with holes are not supported; contiguous() "
            "copies them" + errors.at_user_line()
        )
    # Batches of one: they are what the kernel takes.
    triples = zip(*(components(each, True) for each in (query, key, value)), strict=True)
    parts = [plain(*triple, None, *rest, **named) for triple in triples]
    joined = cat(parts, cuts.ragged).squeeze(0)
    # In memory the features of all heads are side by side: they are joined next.
    beside = joined.movedim(cuts.ragged - 1, 0).contiguous()
    return nested(beside.movedim(0, cuts.ragged - 1), cuts)


@strided("scaled_dot_product_attention")
def attention_strided(
    plain: Plain, query: Any, key: Any, value: Any, attn_mask: Any = None, *rest: Any, **named: Any
) -> Tensor:
    """The same of components in the strided layout."""
    if attn_mask is not None:
        raise RuntimeError(
            "scaled_dot_product_attention: Nested tensors for query / key / value are not supported"
            " when an explicit attn_mask is set" + errors.at_user_line()
        )
    triples = zip(*map(components, (query, key, value)), strict=True)
    return of_components([plain(*triple, None, *rest, **named) for triple in triples])
