"""Resizing of images and volumes: `interpolate` in all its modes, and its old names.

Resizing is linear; its adjoint is an operation whose gradient is the resizing again.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.arguments import typed
from clew.core.op import Op
from clew.core.tensor import Tensor
from clew.kernels import numpy as kernels
from clew.ops.define.dims import is_int
from clew.ops.nn.average_pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
)
from clew.ops.nn.spatial import Shape, failure, keeps_format, located, require_tensor
from clew.source import user_stacklevel

Array = np.ndarray
Scales = tuple[float | None, ...] | None


@keeps_format
@located
def _resized(
    self: Array, *, size: Shape, mode: str, align_corners: bool, scales: Scales, antialias: bool
) -> Array:
    options: dict[str, Any] = {
        "size": size, "mode": mode, "align_corners": align_corners, "scales": scales,
        "antialias": antialias,
    }  # fmt: skip
    if self.dtype != np.uint8 or mode.startswith("nearest"):
        return kernels.interpolate.interpolate(self, **options)
    return kernels.interpolate.interpolate_bytes(self, **options)


@keeps_format
@located
def _resized_adjoint(
    grad_output: Array, *, input_shape: Shape, mode: str, align_corners: bool, scales: Scales,
    antialias: bool,
) -> Array:  # fmt: skip
    return kernels.interpolate.interpolate_adjoint(
        grad_output, input_shape=input_shape, mode=mode, align_corners=align_corners,
        scales=scales, antialias=antialias,
    )  # fmt: skip


def _resizing_op(name: str, node: str) -> Op:
    op = Op(
        name, _resized, linear=True, node=f"{node}Backward0",
        grads={
            "self": lambda g, self_shape, mode, align_corners, scales, antialias: adjoint(
                g, input_shape=self_shape, mode=mode, align_corners=align_corners, scales=scales,
                antialias=antialias,
            )
        },
    )  # fmt: skip
    adjoint = Op(
        f"{name}_backward", _resized_adjoint, linear=True, node=f"{node}BackwardBackward0",
        grads={
            "grad_output": lambda g, grad_output_shape, mode, align_corners, scales, antialias: op(
                g, size=grad_output_shape[2:], mode=mode, align_corners=align_corners,
                scales=scales, antialias=antialias,
            )
        },
    )  # fmt: skip
    return op


_NODES = {
    "nearest": "UpsampleNearest{}D", "nearest-exact": "UpsampleNearestExact{}D",
    "linear": "UpsampleLinear1D", "bilinear": "UpsampleBilinear2D",
    "bicubic": "UpsampleBicubic2D", "trilinear": "UpsampleTrilinear3D",
    "lanczos": "UpsampleLanczos2D",
}  # fmt: skip
_AXES = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3, "lanczos": 2}
_FILTERED = ("bilinear", "bicubic", "lanczos")
RESIZING = {
    (mode, dims, False): _resizing_op(
        f"upsample_{mode.replace('-', '_')}{dims}d", node.format(dims)
    )
    for mode, node in _NODES.items()
    if mode != "lanczos"
    for dims in ((_AXES[mode],) if mode in _AXES else (1, 2, 3))
} | {
    (mode, 2, True): _resizing_op(f"upsample_{mode}2d_aa", f"{_NODES[mode]}Aa")
    for mode in _FILTERED
}


# -- reading the arguments ---------------------------------------------------------------------


def _spatial_mismatch(name: str, spatial: Shape, value: Any, shape: str) -> ValueError:
    letter = name[0]
    if name == "output size":
        letter = "o"
    return ValueError(
        f"Input and {name.replace('output size', 'output')} must have the same number of spatial "
        f"dimensions, but got input with spatial dimensions of {list(spatial)} and {name} of "
        f"{shape}{value}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
        f"{name} in ({letter}1, {letter}2, ...,{letter}K) format." + errors.at_user_line()
    )


def _read_size(size: Any, spatial: Shape) -> Shape:
    if not isinstance(size, (list, tuple)):
        size = (size,) * len(spatial)
    if len(size) != len(spatial):
        raise _spatial_mismatch("output size", spatial, size, "")
    if not all(map(is_int, size)):
        raise TypeError(
            "expected size to be one of int or Tuple[int] or Tuple[int, int] or "
            f"Tuple[int, int, int], but got size with types {[type(n) for n in size]}"
            + errors.at_user_line()
        )
    return tuple(int(n) for n in size)


def _read_scales(scale_factor: Any, spatial: Shape) -> tuple[float, ...]:
    if not isinstance(scale_factor, (list, tuple)):
        scale_factor = (scale_factor,) * len(spatial)
    if len(scale_factor) != len(spatial):
        raise _spatial_mismatch("scale_factor", spatial, scale_factor, "shape ")
    return tuple(float(scale) for scale in scale_factor)


def _check_mode(
    mode: str, dims: int, align_corners: bool | None, antialias: bool, ndim: int
) -> None:
    known = mode in _NODES or mode == "area"
    if align_corners is not None and known and mode not in _AXES:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: "
            "linear | bilinear | bicubic | trilinear" + errors.at_user_line()
        )
    if antialias and not (mode in _FILTERED and ndim == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and "
            "requires a 4-D tensor as input" + errors.at_user_line()
        )
    wanted = _AXES.get(mode, dims)
    if known and mode not in ("bicubic", "lanczos") and dims in (1, 2, 3) and wanted != dims:
        raise NotImplementedError(
            f"Got {ndim}D input, but {mode} mode needs {wanted + 2}D input" + errors.at_user_line()
        )
    if not known or dims not in (1, 2, 3) or wanted != dims:
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {ndim}D) for the "
            "modes: nearest | linear | bilinear | bicubic | trilinear | lanczos | area | "
            f"nearest-exact (got {mode})" + errors.at_user_line()
        )
    if mode == "lanczos" and not antialias:
        raise ValueError("Lanczos mode requires antialias=True" + errors.at_user_line())
    if mode == "lanczos" and align_corners:
        raise ValueError("Lanczos mode does not support align_corners=True" + errors.at_user_line())


def _check_sizes(shape: Shape, sizes: Shape) -> None:
    spatial, letters = shape[2:], {1: "W", 2: "HW", 3: "DHW"}[len(sizes)]

    def listed(values: Sequence[int]) -> str:
        pairs = zip(letters, values, strict=True)
        return "(" + ", ".join(f"{letter}: {value}" for letter, value in pairs) + ")"

    if min(spatial) < 1 or min(sizes) < 1:
        raise failure(
            f"Input and output sizes should be greater than 0, but got input {listed(spatial)} "
            f"output {listed(sizes)}"
        )
    if shape[1] == 0:
        raise failure(
            f"Non-empty {len(shape)}D data tensor expected but got a tensor with sizes "
            f"{errors.shape_list(shape)}"
        )


def _check_dtype(input: Tensor, mode: str, dims: int, antialias: bool) -> None:
    byte = mode.startswith("nearest") or dims == 2
    if antialias and input.dtype.is_floating_point and input.dtype.itemsize < 4:
        raise errors.no_kernel("compute_index_ranges_weights", input.dtype)
    if input.dtype.is_floating_point or (byte and input.dtype is dtypes.uint8):
        return
    if antialias:
        raise errors.no_kernel("compute_index_ranges_weights", input.dtype)
    kind = "nearest" if mode.startswith("nearest") else mode
    if dims == 2 and kind != "bicubic":
        raise errors.no_kernel(f"upsample_{kind}2d_channels_last", input.dtype)
    stem = {"nearest": "nearest", "bicubic": "cubic"}.get(kind, "linear")
    raise errors.no_kernel(f"compute_indices_weights_{stem}", input.dtype)


@typed
def interpolate(
    input: Tensor, size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None, mode: str = "nearest",
    align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:  # fmt: skip
    """Resize the spatial dimensions of (N, C, ...) to a size or by a factor.

    Args:
        input: 1 to 3 spatial dimensions
        size: the spatial sizes of the output
        scale_factor: or the factor of the input's sizes
        mode: "nearest", "nearest-exact" or "area" for all; "linear" for lines, "bilinear" and
            "bicubic" for images, "trilinear" for volumes
        align_corners: whether the corner pixels keep their places; for the linear and cubic modes
        recompute_scale_factor: compute with the factor that the rounded sizes have
        antialias: average over all pixels when an image shrinks; for "bilinear" and "bicubic"

    Example:
        >>> F.interpolate(clew.tensor([[[1.0, 2.0]]]), scale_factor=2)
        tensor([[[1., 1., 2., 2.]]])
        >>> F.interpolate(clew.tensor([[[1.0, 2.0]]]), size=3, mode="linear", align_corners=True)
        tensor([[[1.0000, 1.5000, 2.0000]]])
    """
    require_tensor("interpolate", "input", 1, input)
    antialias = bool(antialias)
    shape = input._array.shape
    spatial, dims = shape[2:], len(shape) - 2
    if mode not in _AXES and align_corners is not None:
        _check_mode(mode, dims, align_corners, antialias, len(shape))
    sizes, scales = _read_target(spatial, size, scale_factor, recompute_scale_factor)
    if mode == "area" and not antialias and dims in (1, 2, 3):
        pool = (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[dims - 1]
        return pool(input, list(sizes))
    _check_mode(mode, dims, align_corners, antialias, len(shape))
    _check_sizes(shape, sizes)
    _check_dtype(input, mode, dims, antialias)
    result: Tensor = RESIZING[mode, dims, antialias](
        input, size=sizes, mode=mode, align_corners=bool(align_corners), scales=scales,
        antialias=antialias,
    )  # fmt: skip
    return result


def _read_target(
    spatial: Shape, size: Any, scale_factor: Any, recompute_scale_factor: bool | None
) -> tuple[Shape, Scales]:
    """The output's spatial size, and the factors if positions are to be computed from them."""
    if size is not None and scale_factor is not None:
        raise ValueError(
            "only one of size or scale_factor should be defined" + errors.at_user_line()
        )
    if size is not None:
        sizes = _read_size(size, spatial)
        if recompute_scale_factor:
            raise ValueError(
                "recompute_scale_factor is not meaningful with an explicit size."
                + errors.at_user_line()
            )
        return sizes, None
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined" + errors.at_user_line())
    scales = _read_scales(scale_factor, spatial)
    if not all(abs(n * scale) < 2**63 for n, scale in zip(spatial, scales, strict=True)):
        raise failure(
            "value cannot be converted to type int64_t without overflow\n"
            f"  The sizes {spatial} times {scales} are no sizes"
        )
    sizes = kernels.interpolate.interpolate_output_size(spatial, scales)
    return sizes, None if recompute_scale_factor else scales


# -- old names ---------------------------------------------------------------------------------


def _deprecated(name: str) -> None:
    warnings.warn(
        f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=user_stacklevel(),
    )


def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:  # fmt: skip
    """Deprecated: the old name of `interpolate`."""
    _deprecated("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Deprecated: the old name of `interpolate(mode="nearest")`."""
    _deprecated("upsample_nearest")
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Deprecated: the old name of `interpolate(mode="bilinear", align_corners=True)`."""
    _deprecated("upsample_bilinear")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
