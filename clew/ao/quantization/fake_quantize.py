"""`FakeQuantize`: rounds as quantization would, while a model trains."""

from __future__ import annotations

import functools
from typing import Any

from clew.ao.quantization.functions import (
    fake_quantize_per_channel_affine,
    fake_quantize_per_tensor_affine,
)
from clew.ao.quantization.observer import (
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    per_channel_affine,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
    with_args,
)
from clew.backend import dtypes
from clew.core.public import FUNCTIONS
from clew.core.tensor import Tensor
from clew.nn.modules.module import Module

__all__ = [
    "FakeQuantize", "FakeQuantizeBase", "FusedMovingAvgObsFakeQuantize", "default_fake_quant",
    "default_fused_act_fake_quant", "default_fused_per_channel_wt_fake_quant",
    "default_fused_wt_fake_quant", "default_per_channel_weight_fake_quant",
    "default_weight_fake_quant", "disable_fake_quant", "disable_observer", "enable_fake_quant",
    "enable_observer",
]  # fmt: skip


class FakeQuantizeBase(Module):
    """Base of modules that round: they have two switches."""

    fake_quant_enabled: Tensor
    observer_enabled: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("fake_quant_enabled", FUNCTIONS["ones"](1, dtype=dtypes.uint8))
        self.register_buffer("observer_enabled", FUNCTIONS["ones"](1, dtype=dtypes.uint8))

    def enable_fake_quant(self, enabled: bool = True) -> None:
        """Switch rounding on or off."""
        self.fake_quant_enabled.fill_(int(enabled))

    def disable_fake_quant(self) -> None:
        """Switch rounding off."""
        self.enable_fake_quant(False)

    def enable_observer(self, enabled: bool = True) -> None:
        """Switch on or off that the scale follows what is seen."""
        self.observer_enabled.fill_(int(enabled))

    def disable_observer(self) -> None:
        """Let the scale stay as it is."""
        self.enable_observer(False)

    with_args = classmethod(with_args)


class FakeQuantize(FakeQuantizeBase):
    """Rounds as quantization would, with a scale that an observer gives.

    Args:
        observer: the class of the observer
        quant_min, quant_max: the first and the last step
        is_dynamic: accepted
        observer_kwargs: arguments of the observer
    """

    scale: Tensor
    zero_point: Tensor

    def __init__(
        self,
        observer: Any = MovingAverageMinMaxObserver,
        quant_min: int | None = None,
        quant_max: int | None = None,
        is_dynamic: bool = False,
        **observer_kwargs: Any,
    ) -> None:
        super().__init__()
        if quant_min is not None and quant_max is not None:
            observer_kwargs.update(quant_min=quant_min, quant_max=quant_max)
        self.activation_post_process = observer(**observer_kwargs)
        own = self.activation_post_process
        self.quant_min, self.quant_max = own.quant_min, own.quant_max
        self.dtype, self.qscheme, self.is_dynamic = own.dtype, own.qscheme, is_dynamic
        self.ch_axis = getattr(own, "ch_axis", -1)
        self.is_per_channel = self.qscheme in (per_channel_affine, per_channel_symmetric)
        self.register_buffer("scale", FUNCTIONS["ones"](1))
        self.register_buffer("zero_point", FUNCTIONS["zeros"](1, dtype=dtypes.int32))

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        """The scale and the zero point of what was seen."""
        found: tuple[Tensor, Tensor] = self.activation_post_process.calculate_qparams()
        return found

    def scales_of_range(self) -> tuple[Tensor, Tensor]:
        """The scale and the zero point to round with."""
        return self.calculate_qparams()

    def forward(self, X: Tensor) -> Tensor:
        if self.observer_enabled[0] == 1:
            self.activation_post_process(X.detach())
            self.scale, self.zero_point = self.scales_of_range()
        if self.fake_quant_enabled[0] != 1:
            return X
        if self.is_per_channel:
            return fake_quantize_per_channel_affine(
                X, self.scale, self.zero_point, self.ch_axis, self.quant_min, self.quant_max
            )
        return fake_quantize_per_tensor_affine(
            X, self.scale, self.zero_point, self.quant_min, self.quant_max
        )

    def extra_repr(self) -> str:
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, "
            f"observer_enabled={self.observer_enabled}, quant_min={self.quant_min}, "
            f"quant_max={self.quant_max}, dtype={self.dtype}, qscheme={self.qscheme}, "
            f"ch_axis={self.ch_axis}, scale={self.scale}, zero_point={self.zero_point}"
        )


class FusedMovingAvgObsFakeQuantize(FakeQuantize):
    """`FakeQuantize` with a moving average; in PyTorch it is one kernel.

    Around zero the kernel's scale is the larger one of both sides, of which the negative one has a
    step more.
    """

    def __init__(
        self,
        observer: Any = MovingAverageMinMaxObserver,
        quant_min: int | None = None,
        quant_max: int | None = None,
        is_dynamic: bool = False,
        **observer_kwargs: Any,
    ) -> None:
        super().__init__(observer, quant_min, quant_max, is_dynamic, **observer_kwargs)
        self.fake_quant_enabled = self.fake_quant_enabled.long()
        self.observer_enabled = self.observer_enabled.long()

    def scales_of_range(self) -> tuple[Tensor, Tensor]:
        own = self.activation_post_process
        scale, zero_point = own.calculate_qparams()
        if self.qscheme in (per_tensor_symmetric, per_channel_symmetric):
            steps = (self.quant_max - self.quant_min) // 2
            least, greatest = own.min_val.clamp(max=0), own.max_val.clamp(min=0)
            scale = FUNCTIONS["maximum"](-least / (steps + 1), greatest / steps).reshape(
                scale.shape
            )
        return scale, zero_point

    def extra_repr(self) -> str:
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, "
            f"observer_enabled={self.observer_enabled}, scale={self.scale}, "
            f"zero_point={self.zero_point}, dtype={self.dtype}, quant_min={self.quant_min}, "
            f"quant_max={self.quant_max}, qscheme={self.qscheme}, "
            f"reduce_range={self.activation_post_process.reduce_range}"
        )


def _switch(name: str) -> Any:
    def switch(mod: Module) -> None:
        if isinstance(mod, FakeQuantizeBase):
            getattr(mod, name)()

    switch.__name__ = switch.__qualname__ = name
    switch.__doc__ = f"For `model.apply`: call `{name}()` of modules that round."
    return switch


enable_fake_quant, disable_fake_quant = _switch("enable_fake_quant"), _switch("disable_fake_quant")
enable_observer, disable_observer = _switch("enable_observer"), _switch("disable_observer")

_activation = functools.partial(
    FakeQuantize.with_args, observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255,
    dtype=dtypes.quint8, qscheme=per_tensor_affine,
)  # fmt: skip
default_fake_quant = _activation(reduce_range=True)
default_weight_fake_quant = FakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, quant_min=-128, quant_max=127, dtype=dtypes.qint8,
    qscheme=per_tensor_symmetric, reduce_range=False,
)  # fmt: skip
default_per_channel_weight_fake_quant = FakeQuantize.with_args(
    observer=MovingAveragePerChannelMinMaxObserver, quant_min=-128, quant_max=127,
    dtype=dtypes.qint8, qscheme=per_channel_symmetric, reduce_range=False, ch_axis=0,
)  # fmt: skip
default_fused_act_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255, dtype=dtypes.quint8
)
default_fused_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, quant_min=-128, quant_max=127, dtype=dtypes.qint8,
    qscheme=per_tensor_symmetric,
)  # fmt: skip
default_fused_per_channel_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAveragePerChannelMinMaxObserver, quant_min=-128, quant_max=127,
    dtype=dtypes.qint8, qscheme=per_channel_symmetric,
)  # fmt: skip
