"""Instance normalisation: each channel of each sample by itself."""

from __future__ import annotations

import warnings
from typing import Any

from clew import errors
from clew.core.tensor import Tensor
from clew.nn import functional as F
from clew.nn.modules.batchnorm import _LazyNormBase, _NormBase
from clew.source import user_stacklevel

__all__ = [
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
]


class _InstanceNorm(_NormBase):
    """Mean 0 and variance 1 of each channel of each sample, or by running statistics.

    `_input_dims` are the numbers of dimensions of an input without a batch, and with one.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        batched = input.dim() != self._input_dims[0]
        self._check_channels(input, int(batched))
        result = F.instance_norm(
            input if batched else input.unsqueeze(0),
            self.running_mean, self.running_var, self.weight, self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum, self.eps,
        )  # fmt: skip
        return result if batched else result.squeeze(0)

    def _get_no_batch_dim(self) -> int:
        """How many dimensions an input without a batch has."""
        return self._input_dims[0]

    def _check_channels(self, input: Tensor, dim: int) -> None:
        have = input.shape[dim]
        if have == self.num_features:
            return
        if self.affine:
            raise ValueError(
                f"expected input's size at dim={dim} to match num_features "
                f"({self.num_features}), but got: {have}." + errors.at_user_line()
            )
        warnings.warn(
            f"input's size at dim={dim} does not match num_features. You can silence this "
            "warning by not passing in num_features, which is not used because affine=False",
            stacklevel=user_stacklevel(),
        )

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        if local_metadata.get("version") is None and not self.track_running_stats:
            names = [prefix + name for name in ("running_mean", "running_var")]
            found = [name for name in names if name in state_dict]
            if found:
                error_msgs.append(self._unexpected_statistics(found))
            for name in found:
                state_dict.pop(name)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def _unexpected_statistics(self, found: list[str]) -> str:
        kind = type(self).__name__
        quoted = " and ".join(f'"{name}"' for name in found)
        return (
            f"Unexpected running stats buffer(s) {quoted} for {kind} with "
            "track_running_stats=False. Layers of this kind kept running statistics by default "
            f"before PyTorch 0.4: write {kind}(..., track_running_stats=True) to use them, or "
            "remove them from the state dict."
        )


class InstanceNorm1d(_InstanceNorm):
    """Instance normalisation of (N, C, L) or (C, L): each channel of each sample by itself.

    Args:
        num_features: the number of channels
        eps: what is added to the variance
        momentum: the weight of a new batch in the running statistics
        affine: whether there are a trained scale and shift for each channel
        track_running_stats: whether running statistics are kept
        device, dtype: of the parameters and statistics
        bias: whether the shift is part of `affine`

    Shape: (N, C, L) or (C, L), the same out

    Example:
        >>> nn.InstanceNorm1d(2)(clew.tensor([[[1.0, 3.0], [10.0, 30.0]]]))
        tensor([[[-1.0000,  1.0000],
                 [-1.0000,  1.0000]]])
    """

    _input_dims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Instance normalisation of images (N, C, H, W) or (C, H, W).

    Args:
        num_features: the number of channels
        eps: what is added to the variance
        momentum: the weight of a new batch in the running statistics
        affine: whether there are a trained scale and shift for each channel
        track_running_stats: whether running statistics are kept
        device, dtype: of the parameters and statistics
        bias: whether the shift is part of `affine`

    Shape: (N, C, H, W) or (C, H, W), the same out

    Example:
        >>> x = nn.InstanceNorm2d(3)(clew.randn(2, 3, 4, 4))
        >>> bool(x.mean((2, 3)).abs().max() < 1e-6)
        True
    """

    _input_dims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Instance normalisation of volumes (N, C, D, H, W) or (C, D, H, W).

    Args:
        num_features: the number of channels
        eps: what is added to the variance
        momentum: the weight of a new batch in the running statistics
        affine: whether there are a trained scale and shift for each channel
        track_running_stats: whether running statistics are kept
        device, dtype: of the parameters and statistics
        bias: whether the shift is part of `affine`

    Shape: (N, C, D, H, W) or (C, D, H, W), the same out

    Example:
        >>> nn.InstanceNorm3d(3)(clew.randn(2, 3, 4, 4, 4)).shape
        torch.Size([2, 3, 4, 4, 4])
    """

    _input_dims = (4, 5)


class LazyInstanceNorm1d(_LazyNormBase, _InstanceNorm):
    """`InstanceNorm1d` that takes the number of channels from the first input.

    Args:
        eps, momentum, affine, track_running_stats, device, dtype, bias: as in the layer that it
            becomes

    Shape: as `InstanceNorm1d`

    Example:
        >>> layer = nn.LazyInstanceNorm1d()
        >>> _ = layer(clew.randn(4, 5, 3))
        >>> layer.num_features
        5
    """

    cls_to_become = InstanceNorm1d
    _input_dims = InstanceNorm1d._input_dims


class LazyInstanceNorm2d(_LazyNormBase, _InstanceNorm):
    """`InstanceNorm2d` that takes the number of channels from the first input.

    Args:
        eps, momentum, affine, track_running_stats, device, dtype, bias: as in the layer that it
            becomes

    Shape: as `InstanceNorm2d`

    Example:
        >>> layer = nn.LazyInstanceNorm2d()
        >>> _ = layer(clew.randn(4, 5, 3, 3))
        >>> layer.num_features
        5
    """

    cls_to_become = InstanceNorm2d
    _input_dims = InstanceNorm2d._input_dims


class LazyInstanceNorm3d(_LazyNormBase, _InstanceNorm):
    """`InstanceNorm3d` that takes the number of channels from the first input.

    Args:
        eps, momentum, affine, track_running_stats, device, dtype, bias: as in the layer that it
            becomes

    Shape: as `InstanceNorm3d`

    Example:
        >>> layer = nn.LazyInstanceNorm3d()
        >>> _ = layer(clew.randn(4, 5, 3, 3, 3))
        >>> layer.num_features
        5
    """

    cls_to_become = InstanceNorm3d
    _input_dims = InstanceNorm3d._input_dims
