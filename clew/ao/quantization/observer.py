"""Observers: modules that look at tensors and give the scale and the zero point for them."""

from __future__ import annotations

import functools
from typing import Any

from clew.backend import dtypes
from clew.core.public import FUNCTIONS
from clew.core.tensor import Tensor
from clew.nn.modules.module import Module

__all__ = [
    "HistogramObserver", "MinMaxObserver", "MovingAverageMinMaxObserver",
    "MovingAveragePerChannelMinMaxObserver", "NoopObserver", "ObserverBase",
    "PerChannelMinMaxObserver", "PlaceholderObserver", "UniformQuantizationObserverBase",
    "default_observer", "default_per_channel_weight_observer", "default_placeholder_observer",
    "default_weight_observer", "per_channel_affine", "per_channel_symmetric", "per_tensor_affine",
    "per_tensor_symmetric", "with_args",
]  # fmt: skip

_RANGES = {"qint8": (-128, 127), "quint8": (0, 255), "int8": (-128, 127), "uint8": (0, 255)}
_WIDE = ("qint32", "int32")


class qscheme:
    """How scales are chosen: one or one per channel, around zero or not."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> str:
        return self._name


per_tensor_affine = qscheme("per_tensor_affine")
per_tensor_symmetric = qscheme("per_tensor_symmetric")
per_channel_affine = qscheme("per_channel_affine")
per_channel_symmetric = qscheme("per_channel_symmetric")
_SYMMETRIC = (per_tensor_symmetric, per_channel_symmetric)


class _With:
    """A class with some of its arguments: `Observer.with_args(dtype=torch.qint8)`."""

    def __init__(self, made: Any) -> None:
        self.p = made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.p(*args, **kwargs)

    def __repr__(self) -> str:
        return f"{self.p!r}{{}}"

    def with_args(self, **kwargs: Any) -> _With:
        """The same with more arguments."""
        return _With(functools.partial(self.p, **kwargs))

    with_callable_args = with_args


def with_args(cls: Any, **kwargs: Any) -> _With:
    """A class with some of its arguments."""
    return _With(functools.partial(cls, **kwargs))


class ObserverBase(Module):
    """Base of observers.

    Args:
        dtype: the type that elements would be quantized to
        is_dynamic: whether the scale is chosen for each tensor anew
    """

    def __init__(self, dtype: Any, is_dynamic: bool = False) -> None:
        super().__init__()
        self.dtype, self.is_dynamic = dtype, is_dynamic

    with_args = with_callable_args = classmethod(with_args)

    def calculate_qparams(self) -> Any:
        """The scale and the zero point."""
        raise NotImplementedError


class UniformQuantizationObserverBase(ObserverBase):
    """Base of observers of the least and the greatest element.

    Args:
        dtype: the type of the steps
        qscheme: how the scale is chosen
        reduce_range: whether to use one bit less
        quant_min, quant_max: the first and the last step
        eps: the least scale
    """

    eps: Tensor

    def __init__(
        self,
        dtype: Any = dtypes.quint8,
        qscheme: Any = per_tensor_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: Any = None,
        eps: float = 1.1920928955078125e-07,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(dtype, is_dynamic)
        self.qscheme, self.reduce_range = qscheme, reduce_range
        self.register_buffer("eps", FUNCTIONS["tensor"]([eps]))
        self.has_customized_qrange = quant_min is not None and quant_max is not None
        low, high = (-(2**31), 2**31 - 1) if dtype.name in _WIDE else _RANGES[dtype.name]
        if self.has_customized_qrange:
            low, high = quant_min or 0, quant_max or 0
        if reduce_range and dtype.name not in _WIDE:
            low, high = low // 2, high // 2
        self.quant_min, self.quant_max = low, high

    def _calculate_qparams(self, min_val: Tensor, max_val: Tensor) -> tuple[Tensor, Tensor]:
        if min_val.numel() == 0 or bool((min_val > max_val).any()):
            return FUNCTIONS["ones"](1), FUNCTIONS["zeros"](1, dtype=dtypes.int32)
        least = min_val.clamp(max=0)
        greatest = max_val.clamp(min=0)
        low, high = self.quant_min, self.quant_max
        zero_point = FUNCTIONS["zeros"](least.shape, dtype=dtypes.int32)
        if self.qscheme in _SYMMETRIC:
            greatest = FUNCTIONS["maximum"](-least, greatest)
            scale = FUNCTIONS["maximum"](greatest / ((high - low) / 2), self.eps)
            if self.dtype.name in ("quint8", "uint8"):
                middle = (low + high) // 2 if self.has_customized_qrange else 128
                zero_point = zero_point + middle
        else:
            scale = FUNCTIONS["maximum"]((greatest - least) / float(high - low), self.eps)
            zero_point = (low - (least / scale).round().int()).clamp(low, high)
        if self.qscheme in (per_tensor_affine, per_tensor_symmetric):
            return scale.reshape(1), zero_point.reshape(1)
        return scale, zero_point


class MinMaxObserver(UniformQuantizationObserverBase):
    """The least and the greatest element of all tensors."""

    min_val: Tensor
    max_val: Tensor

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.register_buffer("min_val", FUNCTIONS["tensor"](float("inf")))
        self.register_buffer("max_val", FUNCTIONS["tensor"](float("-inf")))

    def forward(self, x_orig: Tensor) -> Tensor:
        if x_orig.numel():
            least, greatest = x_orig.detach().float().aminmax()
            self._take(least, greatest)
        return x_orig

    def _take(self, least: Tensor, greatest: Tensor) -> None:
        self.min_val.copy_(FUNCTIONS["minimum"](least, self.min_val))
        self.max_val.copy_(FUNCTIONS["maximum"](greatest, self.max_val))

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val.item()}, max_val={self.max_val.item()}"


class MovingAverageMinMaxObserver(MinMaxObserver):
    """Moving averages of the least and the greatest elements.

    Args:
        averaging_constant: how much the newest one counts
    """

    def __init__(self, averaging_constant: float = 0.01, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.averaging_constant = averaging_constant

    def _take(self, least: Tensor, greatest: Tensor) -> None:
        if self.min_val.numel() == 0 or bool((self.min_val == float("inf")).all()):
            self._start(least, greatest)
        else:
            part = self.averaging_constant
            self.min_val.copy_(self.min_val + part * (least - self.min_val))
            self.max_val.copy_(self.max_val + part * (greatest - self.max_val))

    def _start(self, least: Tensor, greatest: Tensor) -> None:
        self.min_val.copy_(least)
        self.max_val.copy_(greatest)


class PerChannelMinMaxObserver(UniformQuantizationObserverBase):
    """The least and the greatest elements of each channel.

    Args:
        ch_axis: the dimension of channels
    """

    min_val: Tensor
    max_val: Tensor

    def __init__(
        self,
        ch_axis: int = 0,
        dtype: Any = dtypes.quint8,
        qscheme: Any = per_channel_affine,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(dtype, qscheme, *args, **kwargs)
        self.ch_axis = ch_axis
        self.register_buffer("min_val", FUNCTIONS["empty"](0))
        self.register_buffer("max_val", FUNCTIONS["empty"](0))

    def forward(self, x_orig: Tensor) -> Tensor:
        if x_orig.numel():
            rows = x_orig.detach().float().movedim(self.ch_axis, 0).flatten(1)
            self._take(*rows.aminmax(dim=1))
        return x_orig

    def _take(self, least: Tensor, greatest: Tensor) -> None:
        if self.min_val.numel():
            least = FUNCTIONS["minimum"](least, self.min_val)
            greatest = FUNCTIONS["maximum"](greatest, self.max_val)
        self.min_val, self.max_val = least, greatest

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"


class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    """Moving averages of the least and the greatest elements of each channel.

    Args:
        averaging_constant: how much the newest one counts
    """

    def __init__(self, averaging_constant: float = 0.01, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.averaging_constant = averaging_constant

    def _take(self, least: Tensor, greatest: Tensor) -> None:
        if self.min_val.numel():
            part = self.averaging_constant
            least = self.min_val + part * (least - self.min_val)
            greatest = self.max_val + part * (greatest - self.max_val)
        self.min_val, self.max_val = least, greatest


class HistogramObserver(UniformQuantizationObserverBase):
    """Raises: clew does not choose scales by histograms."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            "HistogramObserver: clew chooses scales by least and greatest elements. Use "
            "MinMaxObserver, or the configuration torch.ao.quantization.default_qconfig."
        )


class PlaceholderObserver(ObserverBase):
    """Looks at nothing and knows only a type.

    Args:
        dtype: the type
    """

    def __init__(self, dtype: Any = dtypes.float32, *args: Any, **kwargs: Any) -> None:
        super().__init__(dtype, kwargs.get("is_dynamic", False))

    def forward(self, x: Tensor) -> Tensor:
        return x

    def extra_repr(self) -> str:
        return f"dtype={self.dtype}, is_dynamic={self.is_dynamic}"

    def calculate_qparams(self) -> Any:
        raise Exception("calculate_qparams should not be called for PlaceholderObserver")


class NoopObserver(ObserverBase):
    """Looks at nothing."""

    def __init__(self, dtype: Any = dtypes.float16, custom_op_name: str = "") -> None:
        super().__init__(dtype)

    def forward(self, x: Tensor) -> Tensor:
        return x

    def calculate_qparams(self) -> Any:
        raise Exception("calculate_qparams should not be called for NoopObserver")


default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_placeholder_observer = PlaceholderObserver
default_weight_observer = MinMaxObserver.with_args(dtype=dtypes.qint8, qscheme=per_tensor_symmetric)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(
    dtype=dtypes.qint8, qscheme=per_channel_symmetric
)
