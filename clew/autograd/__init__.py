"""Automatic differentiation: what users reach as `clew.autograd`."""

from typing import TYPE_CHECKING

from clew.aliasing import on_request
from clew.autograd import anomaly_mode, grad_mode, graph, tensor_methods
from clew.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
from clew.autograd.backward import backward, grad
from clew.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from clew.autograd.gradcheck import gradcheck, gradgradcheck
from clew.autograd.variable import Variable
from clew.core.overrides import overridable
from clew.core.recording import SavedTensor
from clew.core.state import local

if TYPE_CHECKING:
    from clew.autograd import forward_ad, function, functional, profiler, profiler_util
    from clew.autograd.function import Function

__all__ = [
    "Function",
    "SavedTensor",
    "Variable",
    "anomaly_mode",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_grad_enabled",
    "is_multithreading_enabled",
    "no_grad",
    "profiler",
    "profiler_util",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "tensor_methods",
]


def _is_checkpoint_valid() -> bool:
    """Whether the backward that runs is for all leaves: no `grad()`, no `inputs=`."""
    runs = local.state.backward_runs
    return not runs or runs[-1].needed is None


overridable("torch.autograd", globals(), "backward", "grad")

# Imported when they are first asked for.
__getattr__, __dir__ = on_request(
    __name__,
    {"context", "forward_ad", "function", "functional", "profiler", "profiler_util"},
    {"DeviceType": "profiler_util", "Function": "function"},
)
