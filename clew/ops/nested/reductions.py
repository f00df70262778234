"""Reductions: over values where the ragged dimension stays or goes with the batch, else padded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clew import errors
from clew.core.tensor import Tensor
from clew.ops.define.dims import wrap_dim
from clew.ops.nested.cuts import Jagged
from clew.ops.nested.padding import from_padded, to_padded
from clew.ops.nested.tensor import constant, each, jagged, nested, strided, values_of


def _least(dtype: Any) -> Any:
    """What is no more than any element, as padding."""
    return np.finfo(dtype.np).min if dtype.is_floating_point else _integers(dtype).min


def _greatest(dtype: Any) -> Any:
    """What is no less than any element."""
    return np.finfo(dtype.np).max if dtype.is_floating_point else _integers(dtype).max


def _integers(dtype: Any) -> Any:
    return np.iinfo(np.uint8 if dtype.np.kind == "b" else dtype.np)


# Of each reduction, what may be added without changing it.
_NEUTRAL: dict[str, Callable[[Any], Any]] = {
    "sum": lambda dtype: 0, "prod": lambda dtype: 1, "any": lambda dtype: 0,
    "all": lambda dtype: 1, "amax": _least, "amin": _greatest, "max": _least, "min": _greatest,
    "argmax": _least, "argmin": _greatest,
}  # fmt: skip


def _nested_results(result: Any, cuts: Jagged) -> Any:
    """A result of values as a nested tensor, or a named tuple of such."""
    if isinstance(result, Tensor):
        return nested(result, cuts)
    return type(result)(*[nested(part, cuts) for part in result])


def _unsqueezed(result: Any, dim: int) -> Any:
    if isinstance(result, Tensor):
        return result.unsqueeze(dim)
    return type(result)(*[part.unsqueeze(dim) for part in result])


def _reduced(
    plain: Callable[..., Any], name: str, input: Any, dim: Any, keepdim: bool, named: dict[str, Any]
) -> Any:
    """A reduction along dimensions of the nested tensor."""
    cuts: Jagged = input._cuts
    values = values_of(input)
    if dim is None or dim == () or dim == []:
        result = plain(values, **named)
        return result.reshape((1,) * input._layout.ndim) if keepdim else result
    listed = isinstance(dim, (tuple, list))
    dims = [wrap_dim(each, input._layout.ndim) for each in (dim if listed else (dim,))]
    with_batch, with_ragged = 0 in dims, cuts.ragged in dims
    if with_ragged and cuts.lengths is not None:
        raise RuntimeError(
            f"{name}(): reducing across the ragged dimension is not supported for non-contiguous "
            "nested tensors with holes" + errors.at_user_line()
        )
    inner: Any = tuple(dict.fromkeys(cuts.ragged - 1 if not each else each - 1 for each in dims))
    inner = inner if listed else inner[0]
    if with_ragged and with_batch:
        result = plain(values, dim=inner, keepdim=keepdim, **named)
        return _unsqueezed(result, 0) if keepdim else result
    if with_ragged:
        if len(set(dims)) > 1:
            raise RuntimeError(
                f"{name}(): reducing along a ragged and non-batch dimension is not supported for "
                "nested tensors" + errors.at_user_line()
            )
        padded = to_padded(input, _NEUTRAL[name](input.dtype))
        where = [cuts.ragged] if listed else cuts.ragged
        return plain(padded, dim=where, keepdim=keepdim, **named)
    if with_batch:
        raise RuntimeError(
            f"{name}(): reducing along the batch dimension but not the ragged dimension is not "
            "supported for nested tensors" + errors.at_user_line()
        )
    result = plain(values, dim=inner, keepdim=keepdim, **named)
    gone = 0 if keepdim else sum(each < cuts.ragged for each in set(dims))
    return _nested_results(result, cuts.at(cuts.ragged - gone))


def _reduction(name: str) -> Callable[..., Any]:
    def rule(
        plain: Callable[..., Any], input: Any, dim: Any = None, keepdim: bool = False, **named: Any
    ) -> Any:
        return _reduced(plain, name, input, dim, keepdim, named)

    return rule


for _name in _NEUTRAL:
    if _name not in ("max", "min"):
        jagged(_name)(_reduction(_name))


@jagged("max")
def greatest(plain: Callable[..., Any], input: Any, *args: Any, **named: Any) -> Any:
    """The greatest element, along a dimension or of all; of two tensors, the greater ones."""
    return _chosen(plain, "max", input, args, named)


@jagged("min")
def least(plain: Callable[..., Any], input: Any, *args: Any, **named: Any) -> Any:
    """The least element, along a dimension or of all; of two tensors, the lesser ones."""
    return _chosen(plain, "min", input, args, named)


def _chosen(
    plain: Callable[..., Any], name: str, input: Any, args: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    if "other" in named or (args and isinstance(args[0], Tensor)):
        other = named.pop("other", args[0] if args else None)
        return input.maximum(other) if name == "max" else input.minimum(other)
    given = dict(zip(("dim", "keepdim"), args, strict=False)) | named
    dim, keepdim = given.pop("dim", None), given.pop("keepdim", False)
    return _reduced(plain, name, input, dim, keepdim, given)


@jagged("mean")
def mean(
    plain: Callable[..., Any], input: Any, dim: Any = None, keepdim: bool = False, **named: Any
) -> Any:
    """Means; along the ragged dimension of as many elements as a component has."""
    cuts: Jagged = input._cuts
    listed = dim if isinstance(dim, (tuple, list)) else () if dim is None else (dim,)
    dims = {wrap_dim(each, input._layout.ndim) for each in listed}
    if cuts.ragged not in dims or 0 in dims:
        return _reduced(plain, "mean", input, dim, keepdim, named)
    if len(dims) > 1:
        raise AssertionError(
            "Cannot reduce on both ragged and non-batch dimensions without also reducing on batch"
            + errors.at_user_line()
        )
    if cuts.lengths is not None:
        raise RuntimeError(
            "mean(): reducing across the ragged dimension is not supported for non-contiguous "
            "nested tensors with holes" + errors.at_user_line()
        )
    total = to_padded(input, 0).sum(cuts.ragged, keepdim=True, **named)
    sizes = constant(cuts.sizes).reshape(-1, *(1,) * (total._layout.ndim - 1))
    result: Tensor = total / sizes
    return result if keepdim else result.squeeze(cuts.ragged)


def _softened(
    plain: Callable[..., Any], name: str, input: Any, dim: Any, rest: tuple[Any, ...], named: Any
) -> Tensor:
    """`softmax` and `log_softmax`, along another dimension than the batch."""
    cuts: Jagged = input._cuts
    wrapped = wrap_dim(dim, input._layout.ndim)
    if not wrapped:
        raise RuntimeError(
            f"{name}(): not supported when reducing across the batch dimension for NestedTensor"
            + errors.at_user_line()
        )
    if wrapped != cuts.ragged:
        return nested(plain(values_of(input), wrapped - 1, *rest, **named), cuts)
    if name == "log_softmax":
        raise RuntimeError(
            "log_softmax(): not supported when reducing along the ragged dimension for NestedTensor"
            + errors.at_user_line()
        )
    if cuts.ragged > 1:
        raise RuntimeError(
            "softmax(): not supported when reducing along the ragged dimension for ragged_idx > 1 "
            "for NestedTensor" + errors.at_user_line()
        )
    if cuts.lengths is not None:
        raise RuntimeError(
            "softmax(): not supported where lengths is not None if reducing across the ragged "
            "dimension for NestedTensor" + errors.at_user_line()
        )
    return nested(
        from_padded(plain(to_padded(input, float("-inf")), 1, *rest, **named), cuts), cuts
    )


@jagged("softmax")
def softmax(
    plain: Callable[..., Any], input: Any, dim: Any = None, *rest: Any, **named: Any
) -> Any:
    """Softmax along a dimension; along the ragged one, of each component."""
    return _softened(plain, "softmax", input, dim, rest, named)


@jagged("log_softmax")
def log_softmax(
    plain: Callable[..., Any], input: Any, dim: Any = None, *rest: Any, **named: Any
) -> Any:
    """Its logarithm, along a dimension that is neither the batch nor ragged."""
    return _softened(plain, "log_softmax", input, dim, rest, named)


# -- the strided layout ----------------------------------------------------------------------------


@strided("softmax")
def softmax_strided(
    plain: Callable[..., Any], input: Any, dim: Any, *rest: Any, **named: Any
) -> Any:
    """Softmax of each component."""
    wrapped = wrap_dim(dim, input._layout.ndim)
    if not wrapped:
        raise RuntimeError("Cannot apply softmax across nested dimension 0" + errors.at_user_line())
    return each(input, lambda component: plain(component, wrapped - 1, *rest, **named))


@strided("sum")
def sum_strided(
    plain: Callable[..., Any], input: Any, dim: Any = None, keepdim: bool = False, **named: Any
) -> Any:
    """Sums along the last dimension, which stays."""
    if dim is None:
        raise type(input).refusal("sum")
    listed = dim if isinstance(dim, (tuple, list)) else (dim,)
    wrapped = wrap_dim(listed[0], input._layout.ndim)
    if len(listed) > 1 or wrapped != input._layout.ndim - 1:
        raise RuntimeError(
            "NestedTensor can only be reduced across the last dimension for now got dimension "
            f"{wrapped} instead." + errors.at_user_line()
        )
    if not keepdim:
        raise RuntimeError(
            "NestedTensor always requires keepdim=True for now." + errors.at_user_line()
        )
    return each(input, lambda component: plain(component, -1, keepdim=True, **named))
