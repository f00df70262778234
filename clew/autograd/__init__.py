"""Automatic differentiation: what users reach as `clew.autograd`."""

from clew.autograd import (
    anomaly_mode,
    forward_ad,
    function,
    functional,
    graph,
    profiler,
    profiler_util,
    tensor_methods,
)
from clew.autograd import mode as grad_mode
from clew.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
from clew.autograd.backward import backward, grad
from clew.autograd.function import Function
from clew.autograd.gradcheck import gradcheck, gradgradcheck
from clew.autograd.mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)
from clew.autograd.variable import Variable

__all__ = [
    "Function",
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
    "no_grad",
    "profiler",
    "profiler_util",
    "set_detect_anomaly",
    "set_grad_enabled",
    "tensor_methods",
]
