"""Functions of samples: where the batch is cut, each rank computes its own; and losses.

A loss is computed for each element or sample on parts; sum and mean are those of a tensor in parts.
"""

from __future__ import annotations

import inspect
from typing import Any

from clew.core.tensor import Tensor
from clew.distributed.tensor.dtensor import SPECIAL, DTensor, wrapped
from clew.distributed.tensor.layouts import (
    fills_parts,
    freed,
    gathered_result,
    local_in,
    mesh_of,
    replaced,
    tensors_in,
    whole_shapes,
    without_terms,
)
from clew.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard
from clew.distributed.tensor.rules.elementwise import computed
from clew.distributed.tensor.rules.products import contracted

# How many dimensions a batch has; None is any number from two.
_BATCHED = {
    "conv1d": 3, "conv2d": 4, "conv3d": 5, "conv_transpose1d": 3, "conv_transpose2d": 4,
    "conv_transpose3d": 5, "max_pool1d": 3, "max_pool2d": 4, "max_pool3d": 5, "avg_pool1d": 3,
    "avg_pool2d": 4, "avg_pool3d": 5, "adaptive_avg_pool1d": 3, "adaptive_avg_pool2d": 4,
    "adaptive_max_pool2d": 4, "group_norm": None, "interpolate": None, "pixel_shuffle": 4,
    "unfold": 4,
}  # fmt: skip


def of_samples(func: Any, *args: Any, **options: Any) -> Any:
    """Compute a function that looks at one sample at a time, if the batch is cut."""
    bound = inspect.signature(func).bind(*args, **options).arguments
    input, wanted = bound.get("input"), _BATCHED.get(func.__name__)
    if not isinstance(input, DTensor) or len(input._whole) != (wanted or len(input._whole)):
        return gathered_result(func, args, options)
    mesh = mesh_of(func.__name__, tensors_in([*args, *options.values()]))
    own: list[Placement] = [
        each if each == Shard(0) else Replicate() for each in without_terms(input)._placements
    ]
    cut = [dim for dim, each in enumerate(own) if isinstance(each, Shard)]

    def change(x: DTensor) -> Tensor:
        if x is input:
            return local_in(x, own)
        return local_in(x, [Replicate()] * mesh.ndim, cut)

    parts = func(
        *(replaced(each, change) for each in args),
        **{name: replaced(each, change) for name, each in options.items()},
    )
    made = [
        wrapped(each, mesh, own, (input._whole[0], *each.shape[1:]))
        for each in (parts if isinstance(parts, tuple) else (parts,))
    ]
    return tuple(made) if isinstance(parts, tuple) else made[0]


def convolved(func: Any, *args: Any, **options: Any) -> Any:
    """A convolution: a product along channels, which may be cut as those of matrices are."""
    given = dict(inspect.signature(func).bind(*args, **options).arguments)
    input, weight, bias = (given.pop(name, None) for name in ("input", "weight", "bias"))
    tensors = [each for each in (input, weight, bias) if each is not None]
    if len(tensors_in(tensors)) < len(tensors) or given.get("groups", 1) != 1:
        return of_samples(func, *args, **options)
    if len(input._whole) != _BATCHED[func.__name__]:
        return of_samples(func, *args, **options)
    shape = tuple(whole_shapes(func, (input, weight), given).shape)
    places = range(2, len(shape))
    # A rank without channels, or without filters, would have nothing to compute.
    channels = [] if fills_parts(input, 1) else [1]
    filters = [] if fills_parts(weight, 0) else [0]
    input = freed(without_terms(input), [*channels, *places])
    weight = freed(without_terms(weight), [*filters, *channels, *places])
    letters = "bi" + "xyz"[: len(places)], "oi" + "uvw"[: len(places)]
    made = contracted(func, (input, weight), letters, "bo", shape=shape, **given)
    if bias is None:
        return made
    for _ in places:
        bias = bias.unsqueeze(-1)
    return made + bias


# -- losses ----------------------------------------------------------------------------------------

_OF_ELEMENTS = """
    mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy
    binary_cross_entropy_with_logits kl_div soft_margin_loss poisson_nll_loss
"""


def loss_of_elements(func: Any, *args: Any, **options: Any) -> Any:
    """A loss of elements: computed on parts, and its sum or mean is that of their losses."""
    given = _arguments(func, args, options)
    if given is None:
        return gathered_result(func, args, options)
    reduction = given.pop("reduction", "mean")
    each = computed(func, **given, reduction="none")
    if reduction == "batchmean":
        return each.sum() / given["input"].shape[0]
    return each if reduction == "none" else getattr(each, reduction)()


def loss_of_classes(func: Any, *args: Any, **options: Any) -> Any:
    """A loss of samples; the mean is over those that are not ignored."""
    given = _arguments(func, args, options)
    reduction = "mean" if given is None else given.get("reduction", "mean")
    if given is None or not _is_cut_by_samples(given["input"], given["target"]):
        return gathered_result(func, args, options)
    input, target = given.pop("input"), given.pop("target")
    is_index = not target.is_floating_point()
    if reduction == "mean" and given.get("weight") is not None and is_index:
        return gathered_result(func, args, options)
    mesh, own = input._mesh, input._placements
    given = {name: replaced(each, lambda x: x.full_tensor()) for name, each in given.items()}
    given["reduction"] = "none" if reduction == "none" else "sum"
    part = func(input.to_local(), target.to_local(), **given)
    if reduction == "none":
        return wrapped(part, mesh, own, (input._whole[0], *part.shape[1:]))
    total = wrapped(part, mesh, [Partial() if p == Shard(0) else p for p in own], ())
    if reduction == "sum":
        return total
    counted = target != given.get("ignore_index", -100) if is_index else target.sum(1) * 0 + 1
    return total / counted.sum()


def _arguments(func: Any, args: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any] | None:
    """The arguments by name; None with those that PyTorch had before `reduction`."""
    given = dict(inspect.signature(func).bind(*args, **options).arguments)
    before = [given.pop(name, None) for name in ("size_average", "reduce")]
    return given if before == [None, None] else None


def _is_cut_by_samples(input: Any, target: Any) -> bool:
    return (
        isinstance(input, DTensor)
        and isinstance(target, DTensor)
        and len(input._whole) > 1
        and input._mesh == target._mesh
        and input._placements == target._placements
        and all(each in (Shard(0), Replicate()) for each in input._placements)
    )


SPECIAL.update(dict.fromkeys(_BATCHED, of_samples))
SPECIAL.update(conv1d=convolved, conv2d=convolved, conv3d=convolved)
SPECIAL.update(dict.fromkeys(_OF_ELEMENTS.split(), loss_of_elements))
SPECIAL.update(nll_loss=loss_of_classes, cross_entropy=loss_of_classes)
