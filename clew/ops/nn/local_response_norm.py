"""local_response_norm: division by what neighbours across channels have."""

from __future__ import annotations

from clew import errors
from clew.backend import dtypes
from clew.core.arguments import typed
from clew.core.tensor import Tensor
from clew.ops.shape.joining import cat


@typed
def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Each element divided by a power of the mean square of its neighbours across channels.

    The divisor is `(k + alpha * mean square) ** beta`.

    Args:
        input: (N, C, ...)
        size: the number of channels in a window
        alpha: the factor of the mean square
        beta: the power
        k: what is added to it

    Example:
        >>> F.local_response_norm(clew.ones(1, 2, 1), size=2, alpha=3.0, beta=1.0).flatten()
        tensor([0.4000, 0.2500])
    """
    ndim = input._array.ndim
    if ndim < 3:
        raise ValueError(
            "Expected 3D or higher dimensionality                          input (got "
            f"{ndim} dimensions)" + errors.at_user_line()
        )
    if not input._array.size:
        return input
    if not (input.dtype.is_floating_point or input.dtype is dtypes.int64):
        torch_kernel = "avg_pool2d" if ndim == 3 else "avg_pool3d_out_frame"
        raise errors.no_kernel(torch_kernel, input.dtype)
    square = input * input
    channels = input._array.shape[1]
    padding = list(square._array.shape)
    before, after = size // 2, (size - 1) // 2
    parts = [square]
    for count, place in ((before, 0), (after, len(parts) + 1)):
        if count:
            padding[1] = count
            parts.insert(place, square.new_zeros(padding))
    padded = cat(parts, 1)
    total = padded.narrow(1, 0, channels)
    for offset in range(1, size):
        total = total + padded.narrow(1, offset, channels)
    # Integers are averaged as PyTorch's pooling averages them: towards zero.
    whole = input.dtype.category < dtypes.FLOAT
    mean = total.div(size, rounding_mode="trunc" if whole else None)
    return input / (mean * alpha + k) ** beta
