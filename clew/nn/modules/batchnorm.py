"""Batch normalisation, and the base of all layers that keep running statistics."""

# ruff: noqa: RUF012  (`__constants__` is a list, as in PyTorch)

from __future__ import annotations

import importlib
import sys
from typing import Any

from clew import errors
from clew.backend import dtypes
from clew.core.tensor import Tensor
from clew.nn import functional as F
from clew.nn import init
from clew.nn.modules.lazy import LazyModuleMixin
from clew.nn.modules.module import Module
from clew.nn.parameter import Parameter, UninitializedBuffer, UninitializedParameter
from clew.ops.create.constants import empty, ones, zeros
from clew.ops.create.from_data import tensor

__all__ = [
    "BatchNorm1d",
    "LazyBatchNorm1d",
    "BatchNorm2d",
    "LazyBatchNorm2d",
    "BatchNorm3d",
    "LazyBatchNorm3d",
    "SyncBatchNorm",
]


class _NormBase(Module):
    """Scale and shift per channel, and running statistics: what batch and instance norm share."""

    # State dicts of version 1 had no `num_batches_tracked`.
    _version = 2
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    num_features: int
    eps: float
    momentum: float | None
    affine: bool
    track_running_stats: bool
    weight: Parameter | None
    bias: Parameter | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None
    # The numbers of dimensions that inputs may have.
    _input_dims: tuple[int, ...] = ()

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        for name, present in (("weight", affine), ("bias", affine and bias)):
            vector = Parameter(empty(num_features, device=device, dtype=dtype)) if present else None
            self.register_parameter(name, vector)
        mean = variance = count = None
        if track_running_stats:
            mean = zeros(num_features, device=device, dtype=dtype)
            variance = ones(num_features, device=device, dtype=dtype)
            count = tensor(0, device=device, dtype=dtypes.int64)
        self.register_buffer("running_mean", mean)
        self.register_buffer("running_var", variance)
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget what was seen: mean 0, variance 1."""
        if self.track_running_stats:
            assert self.running_mean is not None and self.running_var is not None
            assert self.num_batches_tracked is not None
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        if not self._input_dims:
            raise NotImplementedError  # this base is abstract: subclasses say what they take
        if input._array.ndim not in self._input_dims:
            expected = " or ".join(f"{dims}D" for dims in self._input_dims)
            raise ValueError(
                f"expected {expected} input (got {input._array.ndim}D input)"
                + errors.at_user_line()
            )

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        *rest: Any,
    ) -> None:
        key = prefix + "num_batches_tracked"
        old = local_metadata.get("version") in (None, 1)
        if old and self.track_running_stats and key not in state_dict:
            have = self.num_batches_tracked
            state_dict[key] = tensor(0, dtype=dtypes.int64) if have is None else have
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class _LazyNormBase(LazyModuleMixin, _NormBase):
    """A normalisation that learns its number of channels from the first input."""

    weight: UninitializedParameter | None
    bias: UninitializedParameter | None

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        # Parameters of unknown size take the place of those of size 0.
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=bias)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = tensor(0, device=device, dtype=dtypes.int64)

    def reset_parameters(self) -> None:
        if self.num_features != 0 and not self.has_uninitialized_params():
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1]
        for vector in (self.weight, self.bias, self.running_mean, self.running_var):
            if isinstance(vector, (UninitializedParameter, UninitializedBuffer)):
                vector.materialize((self.num_features,))
        self.reset_parameters()


class _BatchNorm(_NormBase):
    """Mean 0 and variance 1 of each channel over the batch, or by running statistics."""

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        training, momentum = self.training, self.momentum
        mean, variance = self.running_mean, self.running_var
        if training:
            if not self.track_running_stats:
                mean = variance = None
            elif self.num_batches_tracked is not None:
                self.num_batches_tracked.add_(1)
                if momentum is None:
                    # The average over all batches so far.
                    momentum = 1.0 / float(self.num_batches_tracked)
        by_batch = training or (mean is None and variance is None)
        return F.batch_norm(
            input, mean, variance, self.weight, self.bias, by_batch,
            0.0 if momentum is None else momentum, self.eps,
        )  # fmt: skip

    def _mismatch(self, *args: Any, **kwargs: Any) -> str:
        input = args[0] if args else kwargs.get("input")
        if not isinstance(input, Tensor):
            return ""
        shape = input._array.shape
        if self._input_dims and len(shape) == self._input_dims[0] - 1:
            return "a single sample needs a batch dimension, too: input.unsqueeze(0) adds it"
        if len(shape) > 1 and shape[1] != self.num_features:
            return (
                f"dimension 1 of its input {errors.shape_list(shape)} is {shape[1]}, and must be "
                f"num_features={self.num_features}"
            )
        return ""


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of (N, C) or (N, C, L).

    Each channel gets mean 0 and variance 1 over the batch while training, and by the running
    statistics in evaluation; then a scale and a shift.

    Args:
        num_features: the number of channels
        eps: what is added to the variance
        momentum: the weight of a new batch in the running statistics; None is the plain average
        affine: whether there are a trained scale and shift for each channel
        track_running_stats: whether running statistics are kept
        device, dtype: of the parameters and statistics
        bias: whether the shift is part of `affine`

    Shape: (N, C) or (N, C, L), the same out

    Example:
        >>> layer = nn.BatchNorm1d(2)
        >>> layer(clew.tensor([[1.0, 10.0], [3.0, 30.0]]))
        tensor([[-1.0000, -1.0000],
                [ 1.0000,  1.0000]], grad_fn=<NativeBatchNormBackward0>)
        >>> layer.running_mean
        tensor([0.2000, 2.0000])
    """

    _input_dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of images (N, C, H, W).

    Each channel gets mean 0 and variance 1 over the batch while training, and by the running
    statistics in evaluation; then a scale and a shift.

    Args:
        num_features: the number of channels
        eps: what is added to the variance
        momentum: the weight of a new batch in the running statistics; None is the plain average
        affine: whether there are a trained scale and shift for each channel
        track_running_stats: whether running statistics are kept
        device, dtype: of the parameters and statistics
        bias: whether the shift is part of `affine`

    Shape: (N, C, H, W), the same out

    Example:
        >>> x = nn.BatchNorm2d(3)(clew.randn(8, 3, 4, 4))
        >>> bool(x.mean((0, 2, 3)).abs().max() < 1e-6)
        True
    """

    _input_dims = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of volumes (N, C, D, H, W).

    Each channel gets mean 0 and variance 1 over the batch while training, and by the running
    statistics in evaluation; then a scale and a shift.

    Args:
        num_features: the number of channels
        eps: what is added to the variance
        momentum: the weight of a new batch in the running statistics; None is the plain average
        affine: whether there are a trained scale and shift for each channel
        track_running_stats: whether running statistics are kept
        device, dtype: of the parameters and statistics
        bias: whether the shift is part of `affine`

    Shape: (N, C, D, H, W), the same out

    Example:
        >>> nn.BatchNorm3d(3)(clew.randn(2, 3, 4, 4, 4)).shape
        torch.Size([2, 3, 4, 4, 4])
    """

    _input_dims = (5,)


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):
    """`BatchNorm1d` that takes the number of channels from the first input.

    Args:
        eps, momentum, affine, track_running_stats, device, dtype, bias: as in the layer that it
            becomes

    Shape: as `BatchNorm1d`

    Example:
        >>> layer = nn.LazyBatchNorm1d()
        >>> _ = layer(clew.zeros(4, 5))
        >>> layer.num_features
        5
    """

    cls_to_become = BatchNorm1d
    _input_dims = BatchNorm1d._input_dims


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):
    """`BatchNorm2d` that takes the number of channels from the first input.

    Args:
        eps, momentum, affine, track_running_stats, device, dtype, bias: as in the layer that it
            becomes

    Shape: as `BatchNorm2d`

    Example:
        >>> layer = nn.LazyBatchNorm2d()
        >>> _ = layer(clew.zeros(4, 5, 3, 3))
        >>> layer
        BatchNorm2d(5, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    cls_to_become = BatchNorm2d
    _input_dims = BatchNorm2d._input_dims


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):
    """`BatchNorm3d` that takes the number of channels from the first input.

    Args:
        eps, momentum, affine, track_running_stats, device, dtype, bias: as in the layer that it
            becomes

    Shape: as `BatchNorm3d`

    Example:
        >>> layer = nn.LazyBatchNorm3d()
        >>> _ = layer(clew.zeros(4, 5, 3, 3, 3))
        >>> layer.num_features
        5
    """

    cls_to_become = BatchNorm3d
    _input_dims = BatchNorm3d._input_dims


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation over the batches of all processes; with one process, `BatchNorm`.

    Args:
        num_features: the number of channels
        eps: what is added to the variance
        momentum: the weight of a new batch in the running statistics; None is the plain average
        affine: whether there are a trained scale and shift for each channel
        track_running_stats: whether running statistics are kept
        process_group: the ranks whose batches are one; None is all of them
        device, dtype: of the parameters and statistics
        bias: whether the shift is part of `affine`

    Shape: (N, C, *), the same out

    Example:
        >>> model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))
        >>> type(nn.SyncBatchNorm.convert_sync_batchnorm(model)[1]).__name__
        'SyncBatchNorm'
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(
                f"expected at least 2D input (got {input.dim()}D input)" + errors.at_user_line()
            )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        if input.shape[1] == 0:
            raise ValueError(
                "SyncBatchNorm number of input channels should be non-zero" + errors.at_user_line()
            )
        if (self.training or self.running_mean is None) and self._has_others():
            ranks = importlib.import_module("clew.distributed.data_parallel.batch_norm")
            result: Tensor = ranks.normalize(self, input)
            return result
        return super().forward(input)

    def _has_others(self) -> bool:
        """Whether there are other ranks: nobody has made a group before it was imported."""
        distributed: Any = sys.modules.get("clew.distributed")
        if distributed is None or not distributed.is_initialized():
            return False
        return distributed.get_world_size(self.process_group) > 1

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """The module with every batch norm in it replaced, which keeps parameters and buffers."""
        converted = module
        if isinstance(module, _BatchNorm):
            converted = cls._like(module, process_group)
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted

    @classmethod
    def _like(cls, module: _BatchNorm, process_group: Any) -> SyncBatchNorm:
        result = cls(
            module.num_features, module.eps, module.momentum, module.affine,
            module.track_running_stats, process_group, bias=module.bias is not None,
        )  # fmt: skip
        if module.affine:
            result.weight, result.bias = module.weight, module.bias
        result.running_mean, result.running_var = module.running_mean, module.running_var
        result.num_batches_tracked = module.num_batches_tracked
        result.training = module.training
        return result
