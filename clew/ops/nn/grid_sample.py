"""Sampling images at real-valued points, and the points of an affine map.

A sample is a sum over neighbours of weight times value. Which neighbours is constant almost
everywhere; the weights are polynomials of the grid. So the gradients are written with two linear
operations, gathering and scattering of one neighbour of every point, and tensor arithmetic on the
weights, and can be differentiated again.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from clew import errors
from clew.core.arguments import typed
from clew.core.casting import FLOAT32, casts
from clew.core.interception import over_samples
from clew.core.op import Op
from clew.core.public import public
from clew.core.state import local
from clew.core.tensor import Tensor, wrap
from clew.kernels import numpy as kernels
from clew.kernels.numpy.arrays import compute_dtype, widened
from clew.ops.define.zero_share import zero_share
from clew.ops.nn.spatial import Shape, failure, integers, located, require_tensor
from clew.ops.shape.joining import stack
from clew.source import user_stacklevel

Array = np.ndarray


# -- one neighbour of every point --------------------------------------------------------------

GATHER: Op = Op(
    "grid_gather",
    lambda self, *, index, inside: kernels.grid_sample.gather_points(self, index, inside),
    grads={
        "self": lambda g, self_shape, index, inside: SCATTER(
            g, index=index, inside=inside, spatial=self_shape[2:]
        )
    },
    linear=True,
)
SCATTER: Op = Op(
    "grid_scatter",
    lambda self, *, index, inside, spatial: kernels.grid_sample.scatter_points(
        self, index, inside, spatial=spatial
    ),
    grads={"self": lambda g, index, inside: GATHER(g, index=index, inside=inside)},
    linear=True,
)


class _Axis:
    """One spatial axis: the first neighbour of each point, and all neighbours' weights."""

    def __init__(
        self, coordinate: Tensor, size: int, mode: str, padding_mode: str, align_corners: bool
    ) -> None:
        scale, offset = kernels.grid_sample.unnormalize_coefficients(size, align_corners)
        position = coordinate * scale + offset
        moved: Any = scale
        if mode != "bicubic":
            factor, shift = kernels.grid_sample.padding_coefficients(
                position._array, size, padding_mode, align_corners
            )
            # A zero factor drops the position itself, which may be infinite or NaN.
            safe = position.masked_fill(wrap(factor == 0), 0)
            position = safe * wrap(factor) + wrap(shift)
            moved = wrap(factor * factor.dtype.type(scale))
        if mode == "nearest":
            self.first = kernels.grid_sample.nearest_positions(position._array)
            return
        floor = np.floor(position._array)
        part = position - wrap(floor)
        self.first = floor if mode == "bilinear" else floor - 1
        if mode == "bilinear":
            self.weights = [1 - part, part]
            self.derivatives: list[Any] = [-moved, moved]
        else:
            self.weights = kernels.interpolate.cubic_weights(part)
            self.derivatives = [
                each * moved for each in kernels.interpolate.cubic_weight_derivatives(part)
            ]


def _axes(
    grid: Tensor, spatial: Shape, mode: str, padding_mode: str, align_corners: bool
) -> list[_Axis]:
    last = len(spatial) - 1
    return [
        _Axis(grid[..., last - axis], size, mode, padding_mode, align_corners)
        for axis, size in enumerate(spatial)
    ]


def _neighbours(
    axes: list[_Axis], spatial: Shape, mode: str, padding_mode: str, align_corners: bool
) -> Iterator[tuple[Shape, Array, Array]]:
    """Each neighbour: its number along every axis, its flat index, and whether it is inside."""
    count = 1 if mode == "nearest" else len(axes[0].weights)
    for taps in product(range(count), repeat=len(axes)):
        corner = [axis.first + tap for axis, tap in zip(axes, taps, strict=True)]
        if mode == "bicubic":
            corner = kernels.grid_sample.pad_corner(corner, spatial, padding_mode, align_corners)
        index, inside = kernels.grid_sample.point_index(corner, spatial)
        yield taps, index, inside


def _product(factors: Sequence[Any]) -> Any:
    total = factors[0]
    for factor in factors[1:]:
        total = total * factor
    return total


_SHARES = {
    dims: tuple(
        zero_share(f"GridSampler{dims}DBackwardBackward0", gives_zeros=zeros)
        for zeros in (False, True)
    )
    for dims in (2, 3)
}


def _of_sample(
    g: Tensor, input: Tensor, grid: Tensor, needs: tuple[bool, ...], mode: str,
    padding_mode: str, align_corners: bool,
) -> tuple[Tensor | None, Tensor | None]:  # fmt: skip
    state = local.state
    if not state.grad_enabled and state.intercept is None and not state.dual:
        found = kernels.grid_sample.grid_sample_gradient(
            g._array, input._array, grid._array, mode=mode, padding_mode=padding_mode,
            align_corners=align_corners, needs=(needs[0], needs[1]),
        )  # fmt: skip
        of_input, of_grid = (None if each is None else wrap(each) for each in found)
        return of_input, of_grid
    if g._array.dtype != compute_dtype(g._array.dtype):
        g, input, grid = g.float(), input.float(), grid.float()
    of_input, of_grid = over_samples(
        "grid_sample's gradient",
        lambda g, input, grid: _composed(
            g, input, grid, needs, mode, padding_mode, align_corners
        ),
        (g, input, grid), local.state.intercept,
    )  # fmt: skip
    if mode == "nearest":
        # Its points move nothing, but are operands of PyTorch's gradient.
        of_input, of_grid = (
            None if each is None else _share(each, input, grid) for each in (of_input, of_grid)
        )
    return of_input, of_grid


def _share(gradient: Tensor, input: Tensor, grid: Tensor) -> Tensor:
    of_input, of_grid = _SHARES[grid._array.shape[-1]]
    return of_grid(gradient, grid) if grid.requires_grad else of_input(gradient, input)


def _composed(
    g: Tensor, input: Tensor, grid: Tensor, needs: tuple[bool, ...], mode: str,
    padding_mode: str, align_corners: bool,
) -> tuple[Tensor | None, Tensor | None]:  # fmt: skip
    spatial = input._array.shape[2:]
    options = (spatial, mode, padding_mode, align_corners)
    axes = _axes(grid, *options)
    of_input: Tensor | None = None
    of_axis: list[Any] = [0] * len(spatial)
    for taps, index, inside in _neighbours(axes, *options):
        weights = (
            [axis.weights[tap] for axis, tap in zip(axes, taps, strict=True)]
            if mode != "nearest"
            else []
        )
        if needs[0]:
            weighted = g * _product(weights).unsqueeze(1) if weights else g
            spread = SCATTER(weighted, index=index, inside=inside, spatial=spatial)
            of_input = spread if of_input is None else of_input + spread
        if needs[1] and weights:
            values = (g * GATHER(input, index=index, inside=inside)).sum(1)
            for number, (axis, tap) in enumerate(zip(axes, taps, strict=True)):
                others = weights[:number] + weights[number + 1 :]
                term = _product([values, axis.derivatives[tap], *others])
                of_axis[number] = of_axis[number] + term
    if not needs[1]:
        return of_input, None
    if mode == "nearest":
        return of_input, grid.new_zeros(grid._array.shape)
    return of_input, stack(of_axis[::-1], dim=-1)


@located
def _sampled(
    input: Array, grid: Array, *, mode: str, padding_mode: str, align_corners: bool
) -> Array:
    return kernels.grid_sample.grid_sample(
        input, grid, mode=mode, padding_mode=padding_mode, align_corners=align_corners
    )


SAMPLERS = {
    dims: Op(
        f"grid_sampler_{dims}d", _sampled, joint=_of_sample, node=f"GridSampler{dims}DBackward0",
        kinks="between two neighbours the right-hand derivative",
    )
    for dims in (2, 3)
}  # fmt: skip


# -- sampling ----------------------------------------------------------------------------------

_CHANGED = (
    "Default grid_sample and affine_grid behavior has changed to align_corners=False since "
    "1.3.0. Please specify align_corners=True if the old behavior is desired. See the "
    "documentation of grid_sample for details."
)


def _check_sampler(input: Tensor, grid: Tensor, mode: str) -> None:
    shape, points = input._array.shape, grid._array.shape
    sizes = f"input with sizes {errors.shape_list(shape)} and grid with sizes "
    sizes += errors.shape_list(points)
    if shape[0] != points[0]:
        raise failure(
            f"grid_sampler(): expected grid and input to have same batch size, but got {sizes}"
        )
    if points[-1] != len(shape) - 2:
        raise failure(
            f"grid_sampler(): expected grid to have size {len(shape) - 2} in last dimension, but "
            f"got grid with sizes {errors.shape_list(points)}"
        )
    for dim in range(2, len(shape)):
        if shape[dim] == 0:
            raise failure(
                f"grid_sampler(): expected input to have non-empty spatial dimensions, but input "
                f"has sizes {errors.shape_list(shape)} with dimension {dim} being empty"
            )
    if len(shape) not in (4, 5) or len(points) != len(shape):
        raise failure(
            f"grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, "
            f"but got {sizes}"
        )
    if mode == "bicubic" and len(shape) == 5:
        raise failure("grid_sampler(): bicubic interpolation only supports 4D input")
    if grid.dtype is not input.dtype:
        raise failure(
            f"expected scalar type {input.dtype.scalar_name} but found {grid.dtype.scalar_name}"
        )
    if not input.dtype.is_floating_point:
        raise errors.no_kernel(f"grid_sampler_{len(shape) - 2}d_cpu_kernel_impl", input.dtype)


def _sample(
    input: Tensor, grid: Tensor, mode: str, padding_mode: str, align_corners: bool
) -> Tensor:
    require_tensor("grid_sampler", "input", 1, input)
    require_tensor("grid_sampler", "grid", 2, grid)
    _check_sampler(input, grid, mode)
    result: Tensor = SAMPLERS[input._array.ndim - 2](
        input, grid, mode=mode, padding_mode=padding_mode, align_corners=bool(align_corners)
    )
    return result


@typed
@casts(FLOAT32)
def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:  # fmt: skip
    """Values of (N, C, *S) at points (N, *P, axes) with coordinates from -1 to 1, width first.

    Args:
        input: (N, C, H, W) or (N, C, D, H, W)
        grid: the points
        mode: how values between pixels are computed: "bilinear", "nearest" or "bicubic"
        padding_mode: what lies outside: "zeros", "border" or "reflection"
        align_corners: whether -1 and 1 are the centres of the corner pixels, not their edges; None
            is False

    Example:
        >>> image = clew.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
        >>> F.grid_sample(image, clew.zeros(1, 1, 1, 2), align_corners=False)
        tensor([[[[2.5000]]]])
    """
    if mode not in kernels.grid_sample.MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
            f"but got: '{mode}'" + errors.at_user_line()
        )
    if padding_mode not in kernels.grid_sample.PADDING_MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            f"'reflection', but got: '{padding_mode}'" + errors.at_user_line()
        )
    if align_corners is None:
        warnings.warn(_CHANGED, stacklevel=user_stacklevel())
    return _sample(input, grid, mode, padding_mode, bool(align_corners))


@public(method=False, out=False)
@casts(FLOAT32)
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`grid_sample` with its modes given by number."""
    for name, number in (("interpolation", interpolation_mode), ("padding", padding_mode)):
        if not 0 <= number < 3:
            raise failure(f"grid_sampler(): unknown {name} mode {number}")
    return _sample(
        input, grid, kernels.grid_sample.MODES[interpolation_mode],
        kernels.grid_sample.PADDING_MODES[padding_mode], align_corners,
    )  # fmt: skip


def _of_dimensions(dims: int) -> Callable[..., Tensor]:
    def sampler(
        input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
    ) -> Tensor:
        if input._array.ndim != dims + 2:
            raise failure(
                f"grid_sampler_{dims}d(): expected {dims + 2}D input, but got input with sizes "
                f"{errors.shape_list(input._array.shape)}"
            )
        return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)

    sampler.__name__ = sampler.__qualname__ = f"grid_sampler_{dims}d"
    sampler.__doc__ = f"`grid_sampler` of tensors with {dims} spatial dimensions."
    return public(method=False, out=False)(sampler)


grid_sampler_2d, grid_sampler_3d = _of_dimensions(2), _of_dimensions(3)


# -- affine grids ------------------------------------------------------------------------------


def _base_points(spatial: Shape, align_corners: bool, dtype: Any) -> Array:
    """Homogeneous coordinates (points, axes + 1) of a regular grid, last axis first."""
    lines = []
    for size in spatial:
        line = np.linspace(-1, 1, size) if size > 1 else np.zeros(size)
        lines.append(line if align_corners else line * (size - 1) / size)
    mesh = np.meshgrid(*lines, indexing="ij")[::-1]
    return np.stack([*mesh, np.ones(spatial)], axis=-1).reshape(prod(spatial), -1).astype(dtype)


def _affine(theta: Array, *, size: Shape, align_corners: bool) -> Array:
    spatial = size[2:]
    wide = widened(theta)
    base = _base_points(spatial, align_corners, wide.dtype)
    points = np.matmul(base, wide.swapaxes(1, 2))
    return points.reshape(size[0], *spatial, len(spatial)).astype(theta.dtype, copy=False)


def _of_affine(g: Tensor, size: Shape, align_corners: bool) -> Tensor:
    spatial = size[2:]
    base = wrap(_base_points(spatial, align_corners, g._array.dtype))
    rows = g.reshape(size[0], prod(spatial), len(spatial))
    return rows.transpose(1, 2).matmul(base)


AFFINE_GRID = Op("affine_grid_generator", _affine, grads={"theta": _of_affine}, linear=True)


@public(checked=True, method=False, out=False)
def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """The points to which the matrices `theta` move a regular grid over (N, C, *spatial)."""
    require_tensor("affine_grid_generator", "theta", 1, theta)
    sizes = integers("affine_grid_generator", "size", size)
    if len(sizes) not in (4, 5):
        raise failure("AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.")
    axes = len(sizes) - 2
    wanted = (sizes[0], axes, axes + 1)
    if theta._array.shape != wanted:
        raise failure(
            f"Expected size for first two dimensions of batch2 tensor to be: "
            f"[{sizes[0]}, {axes + 1}] but got: [{theta._array.shape[0]}, {axes + 1}]."
        )
    result: Tensor = AFFINE_GRID(theta, size=sizes, align_corners=bool(align_corners))
    return result


@typed
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The points to which the matrices `theta` move a regular grid over (N, C, *spatial).

    Args:
        theta: (N, 2, 3) for images, (N, 3, 4) for volumes
        size: the size of the image that is to be sampled, (N, C, H, W) or (N, C, D, H, W)
        align_corners: whether -1 and 1 are the centres of the corner pixels, not their edges; None
            is False

    Example:
        >>> identity = clew.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
        >>> F.affine_grid(identity, [1, 1, 2, 2], align_corners=True)[0, 0]
        tensor([[-1., -1.],
                [ 1., -1.]])
    """
    require_tensor("affine_grid", "theta", 1, theta)
    sizes = tuple(int(n) for n in size)
    if align_corners is None:
        warnings.warn(_CHANGED, stacklevel=user_stacklevel())
    if not theta.dtype.is_floating_point:
        raise ValueError(
            f"Expected theta to have floating point type, but got {theta.dtype}"
            + errors.at_user_line()
        )
    _check_affine(theta, sizes)
    if align_corners and min(sizes[2:]) == 1:
        warnings.warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when "
            "align_corners=True. This is not an intended use case of affine_grid. See the "
            "documentation of affine_grid for details.",
            stacklevel=user_stacklevel(),
        )
    if min(sizes) < 1:
        raise ValueError(
            f"Expected non-zero, positive output size. Got {sizes}" + errors.at_user_line()
        )
    return affine_grid_generator(theta, sizes, bool(align_corners))


def _check_affine(theta: Tensor, sizes: Shape) -> None:
    axes = len(sizes) - 2
    if axes not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {sizes}." + errors.at_user_line()
        )
    shape = theta._array.shape
    if len(shape) != 3 or shape[1:] != (axes, axes + 1):
        raise ValueError(
            f"Expected a batch of {axes}D affine matrices of shape Nx{axes}x{axes + 1} for size "
            f"{sizes}. Got torch.Size({errors.shape_list(shape)})." + errors.at_user_line()
        )
