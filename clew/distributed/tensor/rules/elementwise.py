"""Functions of elements: operands are brought into one layout, which the result has."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew import errors
from clew.core.overrides import disabled
from clew.core.tensor import Tensor
from clew.distributed.tensor.dtensor import (
    SPECIAL,
    DTensor,
    is_in_place,
    part_of,
    plain_name,
    wrapped,
    wrapped_like,
)
from clew.distributed.tensor.layouts import local_in, mesh_of, replaced, tensors_in, without_terms
from clew.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

_NAMES = """
    abs absolute acos acosh add addcdiv addcmul alias angle asin asinh atan atan2 atanh bitwise_and
    bitwise_not bitwise_or bitwise_xor ceil celu clamp clamp_max clamp_min clip clone contiguous
    conj copy_ copysign cos cosh deg2rad digamma div divide elu eq erf erfc erfinv exp exp2
    expm1 fill_ float double half bfloat16 int long bool to type type_as float_power floor
    floor_divide fmax fmin fmod frac ge gelu greater greater_equal gt hardshrink hardsigmoid
    hardswish hardtanh heaviside hypot imag isclose isfinite isinf isnan le leaky_relu lerp less
    less_equal lgamma log log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor
    logit logsigmoid lt masked_fill maximum minimum mish mul multiply nan_to_num ne neg negative
    nextafter not_equal pow polar positive rad2deg real reciprocal relu relu6 remainder round rsqrt
    rsub selu sgn sigmoid sign silu sin sinc sinh softplus softshrink softsign sqrt square sub
    subtract tan tanh tanhshrink threshold true_divide trunc where xlogy
    zero_ ones_like zeros_like empty_like full_like requires_grad_ detach mul_scalar
    truediv floordiv mod and or xor invert radd rtruediv rmul rpow rfloordiv rmod rand ror rxor
    iadd isub imul itruediv ipow iand ior ixor
"""
# What of a sum may be computed of its terms: functions of one operand, sums, and products with
# numbers and with what all ranks have.
_LINEAR_NAMES = """
    neg negative clone contiguous positive float double half bfloat16 to type alias detach
    requires_grad_ zeros_like ones_like empty_like full_like zero_ rand_like randn_like
"""
_PRODUCT_NAMES = "mul multiply div divide true_divide truediv imul itruediv rmul"
_LINEAR, _PRODUCTS = frozenset(_LINEAR_NAMES.split()), frozenset(_PRODUCT_NAMES.split())
_SUMS = frozenset(("add", "sub", "subtract", "radd", "rsub", "iadd", "isub"))


def computed(func: Any, *args: Any, **options: Any) -> Any:
    """Compute a function of elements on parts."""
    name = func.__name__
    tensors = tensors_in([*args, *options.values()])
    first = tensors[0]
    if _alike(tensors) and not any(isinstance(p, Partial) for p in first._placements):
        return _of_equal_parts(func, name, first, args, options)
    mesh = mesh_of(name, tensors)
    _refuse_mixed(name, args, options, ())
    if any(isinstance(p, Partial) for t in tensors for p in t._placements):
        args, options = _settled(plain_name(name), args, options)
        tensors = tensors_in([*args, *options.values()])
        if is_in_place(name) and args[0] is not first:
            raise NotImplementedError(
                f"{name}: ranks have terms of the tensor, {first._placements}: redistribute it"
                + errors.at_user_line()
            )
    whole = np.broadcast_shapes(*(t._whole for t in tensors))
    if is_in_place(name):
        wanted = list(first._placements)
    else:
        wanted = [_layout(tensors, dim, whole) for dim in range(mesh.ndim)]
    adds = plain_name(name) in _SUMS

    def change(x: DTensor) -> Tensor:
        return _operand(x, wanted, whole, adds)

    given = [replaced(each, change) for each in args]
    named = {key: replaced(each, change) for key, each in options.items()}
    if is_in_place(name):
        disabled(func, (), (first, *given[1:]), named)
        return first
    parts = func(*given, **named)
    return wrapped(parts, mesh, wanted, whole) if isinstance(parts, Tensor) else parts


def _alike(tensors: list[DTensor]) -> bool:
    first = tensors[0]
    return all(t._placements == first._placements and t._whole == first._whole for t in tensors)


def _of_equal_parts(
    func: Any, name: str, like: DTensor, args: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    if name == "copy_" and not isinstance(args[1], DTensor):
        # The whole is given: each takes its part.
        args = (args[0], part_of(args[1], like), *args[2:])
    _refuse_mixed(name, args, options, like._array.shape)
    result = disabled(func, (), args, options)
    if isinstance(result, Tensor) and not isinstance(result, DTensor):
        return wrapped_like(result, like)
    return result


def _refuse_mixed(name: str, args: Any, options: Any, part: tuple[int, ...]) -> None:
    """Plain tensors may be numbers, or have the part's shape: optimizers keep such states."""
    for each in [*args, *options.values()]:
        is_plain = isinstance(each, Tensor) and not isinstance(each, DTensor)
        if is_plain and each.numel() != 1 and tuple(each.shape) != part:
            raise RuntimeError(
                f"{name}: got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to "
                "DTensor before calling distributed operators! Use distribute_tensor or "
                "DTensor.from_local" + errors.at_user_line()
            )


def _settled(
    name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Operands of which no rank has terms where the function needs the sums."""
    tensors = tensors_in([*args, *options.values()])
    partial = [t for t in tensors if any(isinstance(p, Partial) for p in t._placements)]
    if name in _LINEAR and len(tensors) == 1:
        return args, options
    if name in _PRODUCTS and len(partial) == 1 and len(args) == 2 and args[1] is not partial[0]:
        return args, options
    if name in ("mul", "multiply", "rmul") and len(partial) == 1:
        return args, options
    kinds = {p for t in partial for p in t._placements if isinstance(p, Partial)}
    if name in _SUMS and len(tensors) == len(args) and not options and len(kinds) == 1:
        return args, options

    def change(x: DTensor) -> DTensor:
        return without_terms(x)

    changed = {key: replaced(each, change) for key, each in options.items()}
    return tuple(replaced(each, change) for each in args), changed


def _layout(tensors: list[DTensor], dim: int, whole: tuple[int, ...]) -> Placement:
    """How the result lies along a dimension of the mesh: as the largest operand that is cut."""
    chosen: Placement = Replicate()
    largest = -1
    for x in tensors:
        placement = x._placements[dim]
        if isinstance(placement, Partial):
            return placement
        if isinstance(placement, Shard) and x.numel() > largest:
            at = placement.dim + len(whole) - len(x._whole)
            if x._whole[placement.dim] == whole[at]:
                chosen, largest = Shard(at), x.numel()
    return chosen


def _operand(x: DTensor, wanted: list[Placement], whole: tuple[int, ...], adds: bool) -> Tensor:
    """The part of an operand that belongs to a part, or to a term, of the result."""
    own: list[Placement] = []
    terms, divisor = [], 1
    for dim, placement in enumerate(wanted):
        if isinstance(placement, Shard):
            at = placement.dim - (len(whole) - len(x._whole))
            if at >= 0 and x._whole[at] == whole[placement.dim]:
                own.append(Shard(at))
                continue
        if isinstance(placement, Partial):
            if x._placements[dim] == placement:
                own.append(placement)
                continue
            # What all ranks have is a factor of each term, or a summand of one of them.
            divisor *= x._mesh.size(dim) if adds and placement.reduce_op == "sum" else 1
        own.append(Replicate())
        if not isinstance(placement, Replicate):
            terms.append(dim)
    part = local_in(x, own, terms)
    return part / divisor if divisor > 1 else part


SPECIAL.update(dict.fromkeys(_NAMES.split(), computed))
