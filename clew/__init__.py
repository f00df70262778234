"""clew: an autograd engine and deep-learning library in Python, with PyTorch's API."""

# ruff: noqa: F401  # the names here are for users

# isort: off
from clew import collector as _collector  # first of all: it is still until the last line

# Then from below. Where modules import each other ten deep, Python asks the system for a piece of
# its stack, and gives it back, at every call that crosses the end of one: a fifth of the time.
import numpy as _numpy
from clew.backend import random as _random
from clew.kernels.codegen import ufunc as _ufunc
from clew.core import elementwise as _elementwise
from clew.core import overrides as _overrides
from clew.core import public as _public
from clew import moved as _moved
from clew import ops as _ops

# isort: on
import math as _math
import sys as _sys
from importlib import import_module as _import_module
from types import FunctionType as _FunctionType
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from clew import autograd, random, version
from clew.aliasing import as_torch
from clew.aliasing import explain_missing as _explain_missing
from clew.aliasing import on_request as _on_request
from clew.autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled
from clew.autograd.explain import why_no_grad
from clew.autograd.mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from clew.backend.allocation import tune_malloc as _tune_malloc
from clew.backend.device import device, get_default_device, set_default_device
from clew.backend.dtypes import ALIASES as _ALIASES
from clew.backend.dtypes import ALL_DTYPES as _ALL_DTYPES
from clew.backend.dtypes import FLOAT8 as _FLOAT8
from clew.backend.dtypes import QUANTIZED as _QUANTIZED
from clew.backend.dtypes import complex32 as _complex32
from clew.backend.dtypes import (
    dtype,
    finfo,
    get_default_dtype,
    iinfo,
    promote_types,
    set_default_dtype,
)
from clew.backend.layout import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    jagged,
    layout,
    memory_format,
    preserve_format,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)
from clew.core.public import FUNCTIONS as _FUNCTIONS
from clew.core.tensor import Size, Tensor
from clew.ops.create.random import Generator, default_generator
from clew.random import get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from clew.settings import (
    are_deterministic_algorithms_enabled,
    get_deterministic_debug_mode,
    get_float32_matmul_precision,
    get_num_interop_threads,
    get_num_threads,
    is_deterministic_algorithms_warn_only_enabled,
    is_warn_always_enabled,
    set_deterministic_debug_mode,
    set_float32_matmul_precision,
    set_flush_denormal,
    set_num_interop_threads,
    set_num_threads,
    set_warn_always,
    use_deterministic_algorithms,
)

__version__: str = version.clew

_tune_malloc()

legacy_contiguous_format = contiguous_format

pi, e, inf, nan, newaxis = _math.pi, _math.e, _math.inf, _math.nan, None

# The in-place methods that are functions, too.
_IN_PLACE = (
    "abs_", "acos_", "acosh_", "addmv_", "arccos_", "arccosh_", "arcsin_", "arcsinh_", "arctan_",
    "arctanh_", "as_strided_", "asin_", "asinh_", "atan_", "atanh_", "ceil_", "clamp_",
    "clamp_max_", "clamp_min_", "clip_", "conj_physical_", "cos_", "cosh_", "deg2rad_", "erf_",
    "erfc_", "exp2_", "exp_", "expm1_", "fill_", "fix_", "floor_", "frac_", "gcd_", "i0_",
    "index_put_", "lcm_", "ldexp_", "log10_", "log1p_", "log2_", "log_", "logit_", "nan_to_num_",
    "neg_", "negative_", "rad2deg_", "reciprocal_", "relu_", "resize_as_", "round_", "rsqrt_",
    "sigmoid_", "sin_", "sinc_", "sinh_", "sqrt_", "square_", "tan_", "tanh_", "trunc_", "xlogy_",
    "zero_",
)  # fmt: skip

globals().update({name: getattr(Tensor, name) for name in _IN_PLACE})
globals().update(_FUNCTIONS)
for _name, _function in _FUNCTIONS.items():
    # Pickles find a function by its module and name.
    if isinstance(_function, _FunctionType) and _function.__module__ != __name__:
        _function.__module__, _function.__qualname__ = __name__, _name
globals().update({d.name: d for d in (*_ALL_DTYPES, *_FLOAT8, *_QUANTIZED, _complex32)}, **_ALIASES)

# Sub-packages that are imported when they are first asked for, so that `import clew` is quick.
_LAZY = frozenset(
    {
        "_C", "__config__", "__future__", "_dynamo", "_inductor", "_utils", "accelerator",
        "amp", "backends", "compiler", "cpu", "cuda", "distributed", "distributions",
        "doctor", "fft", "func", "functional", "fx", "hub", "jit", "linalg", "masked",
        "mps", "multiprocessing", "nn", "onnx", "optim", "overrides", "profiler", "quasirandom",
        "serialization", "signal", "special", "storage", "testing", "torch_version", "types",
        "utils", "xpu",
    }
)  # fmt: skip
_LAZY_NAMES = {
    "_assert": "compiler", "compile": "compiler", "graph": "doctor", "load": "serialization",
    "save": "serialization", "vmap": "func", "OutOfMemoryError": "cuda", "GradScaler": "amp",
    "memory_summary": "memory",
    "cond": "_higher_order_ops", "while_loop": "_higher_order_ops",
} | dict.fromkeys(
    (
        "_assert_async", "_check", "_check_index", "_check_is_size",
        "_check_not_implemented", "_check_tensor_all", "_check_tensor_all_with", "_check_type",
        "_check_value", "_check_with",
    ),
    "_checks",
) | dict.fromkeys(
    (
        "SymBool", "SymFloat", "SymInt", "sym_float", "sym_fresh_size", "sym_int", "sym_ite",
        "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum",
    ),
    "_symbolic",
) | dict.fromkeys(
    (
        "BFloat16Storage", "BoolStorage", "ByteStorage", "CharStorage", "ComplexDoubleStorage",
        "ComplexFloatStorage", "DoubleStorage", "FloatStorage", "HalfStorage", "IntStorage",
        "LongStorage", "ShortStorage", "Storage", "TypedStorage", "UntypedStorage",
    ),
    "storage",
) | dict.fromkeys(
    (
        "autocast", "autocast_decrement_nesting", "autocast_increment_nesting",
        "clear_autocast_cache", "get_autocast_cpu_dtype", "get_autocast_dtype",
        "get_autocast_gpu_dtype", "is_autocast_cache_enabled", "is_autocast_cpu_enabled",
        "is_autocast_enabled", "set_autocast_cache_enabled", "set_autocast_cpu_dtype",
        "set_autocast_cpu_enabled", "set_autocast_dtype", "set_autocast_enabled",
        "set_autocast_gpu_dtype",
    ),
    "amp.autocast_mode",
)  # fmt: skip
# What packages built on PyTorch import besides.
_LAZY |= {
    "_higher_order_ops", "_jit_internal", "_library", "_ops", "_subclasses", "_tensor",
    "_tensor_str", "ao", "classes", "export", "futures", "library", "quantization",
    "return_types",
}  # fmt: skip
_LAZY_NAMES |= {
    "Event": "cuda", "Future": "futures", "PyTorchFileReader": "_C", "ScriptModule": "jit",
    "StorageBase": "_C", "Stream": "cuda", "TensorType": "_C",
    "get_device_module": "_utils",
    "fake_quantize_per_channel_affine": "ao.quantization.functions",
    "fake_quantize_per_tensor_affine": "ao.quantization.functions",
    "per_channel_affine": "ao.quantization.observer",
    "per_channel_symmetric": "ao.quantization.observer",
    "per_tensor_affine": "ao.quantization.observer",
    "per_tensor_symmetric": "ao.quantization.observer",
    "qscheme": "ao.quantization.observer",
}  # fmt: skip

if _TYPE_CHECKING:
    from clew import (
        amp,
        backends,
        cpu,
        cuda,
        doctor,
        fft,
        func,
        linalg,
        multiprocessing,
        nn,
        optim,
        profiler,
        serialization,
        signal,
        special,
        testing,
        utils,
    )
    from clew.amp.autocast_mode import autocast
    from clew.compiler import compile
    from clew.doctor import graph
    from clew.func import vmap
    from clew.serialization import load, save


_get_lazily, __dir__ = _on_request(__name__, _LAZY, _LAZY_NAMES)


def __getattr__(name: str) -> _Any:
    # For type checkers this also says that the names from the table of operations exist.
    if name == "torch":  # PyTorch's module has itself, because it imports its parts by their names
        return _sys.modules[__package__]
    if name.startswith("_foreach_"):
        functions = _import_module("clew._foreach").FUNCTIONS
        if name in functions:
            return functions[name]
    return _get_lazily(name)


_explain_missing(__name__)
_moved.install()
_overrides.switch_on_for_importer()
_collector.resume()
