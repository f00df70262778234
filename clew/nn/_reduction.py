"""What `reduction=` of losses says, as the numbers that PyTorch's compiled part has for it."""

from __future__ import annotations

import warnings

from clew.ops.nn.loss.reduction import REDUCTIONS, check_reduction, legacy_reduction

__all__: list[str] = []


def get_enum(reduction: str) -> int:
    """The number of a reduction."""
    if reduction == "elementwise_mean":
        warnings.warn(
            "reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.",
            stacklevel=2,
        )
        reduction = "mean"
    check_reduction(reduction)
    return REDUCTIONS.index(reduction)


def legacy_get_string(
    size_average: bool | None, reduce: bool | None, emit_warning: bool = True
) -> str:
    """The reduction that the former arguments of losses stand for."""
    with warnings.catch_warnings():
        if not emit_warning:
            warnings.simplefilter("ignore")
        return legacy_reduction(size_average, True if reduce is None else reduce, "mean")


def legacy_get_enum(
    size_average: bool | None, reduce: bool | None, emit_warning: bool = True
) -> int:
    """The number of that reduction."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
