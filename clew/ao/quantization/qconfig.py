"""`QConfig`: which observer activations have, and which one weights have."""

from __future__ import annotations

from typing import Any, NamedTuple

from clew.ao.quantization.fake_quantize import (
    FusedMovingAvgObsFakeQuantize,
    default_fake_quant,
    default_fused_per_channel_wt_fake_quant,
    default_weight_fake_quant,
)
from clew.ao.quantization.observer import (
    HistogramObserver,
    MovingAverageMinMaxObserver,
    default_observer,
    default_per_channel_weight_observer,
    default_weight_observer,
)

__all__ = [
    "QConfig", "default_per_channel_qconfig", "default_qat_qconfig", "default_qconfig",
    "get_default_qat_qconfig", "get_default_qconfig",
]  # fmt: skip


class QConfig(NamedTuple):
    """Which observer activations have, and which one weights have.

    Args:
        activation: makes the observer of activations
        weight: makes the observer of weights
    """

    activation: Any
    weight: Any


default_qconfig = QConfig(default_observer, default_weight_observer)
default_per_channel_qconfig = QConfig(default_observer, default_per_channel_weight_observer)
default_qat_qconfig = QConfig(default_fake_quant, default_weight_fake_quant)


def get_default_qconfig(backend: str = "x86", version: int = 0) -> QConfig:
    """PyTorch's configuration for calibration, whose observers of activations clew refuses."""
    return QConfig(
        HistogramObserver.with_args(reduce_range=backend != "qnnpack"),
        default_per_channel_weight_observer,
    )


def get_default_qat_qconfig(backend: str = "x86", version: int = 1) -> QConfig:
    """PyTorch's configuration for training."""
    reduce = backend != "qnnpack"
    steps = {} if reduce else {"quant_min": 0, "quant_max": 255}
    activation = FusedMovingAvgObsFakeQuantize.with_args(
        observer=MovingAverageMinMaxObserver, reduce_range=reduce, **steps
    )
    weight = default_fused_per_channel_wt_fake_quant if reduce else default_weight_fake_quant
    return QConfig(activation, weight)
