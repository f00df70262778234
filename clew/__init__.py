"""clew: an autograd engine and deep-learning library in Python, with PyTorch's API."""

# ruff: noqa: F401  # the names here are for users

# isort: off
import sys as _sys

if _sys.platform == "win32":
    raise ImportError(
        "clew does not run on Windows itself: it is for Linux and macOS. In the Windows Subsystem "
        "for Linux it does (`wsl --install`, then `pip install clew` there)"
    )

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
from importlib import import_module as _import_module
from types import FunctionType as _FunctionType
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

# Names by their own names: so type checkers know that they are for everybody.
from clew import autograd as autograd
from clew import random as random
from clew import version as version
from clew.aliasing import as_torch as as_torch
from clew.aliasing import explain_missing as _explain_missing
from clew.aliasing import on_request as _on_request
from clew.autograd.anomaly_mode import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from clew.autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
from clew.autograd.explain import why_no_grad as why_no_grad
from clew.autograd.grad_mode import enable_grad as enable_grad
from clew.autograd.grad_mode import inference_mode as inference_mode
from clew.autograd.grad_mode import is_grad_enabled as is_grad_enabled
from clew.autograd.grad_mode import is_inference_mode_enabled as is_inference_mode_enabled
from clew.autograd.grad_mode import no_grad as no_grad
from clew.autograd.grad_mode import set_grad_enabled as set_grad_enabled
from clew.backend.allocation import tune_malloc as _tune_malloc
from clew.backend.device import device as device
from clew.backend.device import get_default_device as get_default_device
from clew.backend.device import set_default_device as set_default_device
from clew.backend.dtypes import ALIASES as _ALIASES
from clew.backend.dtypes import ALL_DTYPES as _ALL_DTYPES
from clew.backend.dtypes import FLOAT8 as _FLOAT8
from clew.backend.dtypes import QUANTIZED as _QUANTIZED
from clew.backend.dtypes import complex32 as _complex32
from clew.backend.dtypes import dtype as dtype
from clew.backend.dtypes import finfo as finfo
from clew.backend.dtypes import get_default_dtype as get_default_dtype
from clew.backend.dtypes import iinfo as iinfo
from clew.backend.dtypes import promote_types as promote_types
from clew.backend.dtypes import set_default_dtype as set_default_dtype
from clew.backend.layout import channels_last as channels_last
from clew.backend.layout import channels_last_3d as channels_last_3d
from clew.backend.layout import contiguous_format as contiguous_format
from clew.backend.layout import jagged as jagged
from clew.backend.layout import layout as layout
from clew.backend.layout import memory_format as memory_format
from clew.backend.layout import preserve_format as preserve_format
from clew.backend.layout import sparse_bsc as sparse_bsc
from clew.backend.layout import sparse_bsr as sparse_bsr
from clew.backend.layout import sparse_coo as sparse_coo
from clew.backend.layout import sparse_csc as sparse_csc
from clew.backend.layout import sparse_csr as sparse_csr
from clew.backend.layout import strided as strided
from clew.core.public import FUNCTIONS as _FUNCTIONS
from clew.core.tensor import Size as Size
from clew.core.tensor import Tensor as Tensor
from clew.ops.create.random import Generator as Generator
from clew.ops.create.random import default_generator as default_generator
from clew.random import get_rng_state as get_rng_state
from clew.random import initial_seed as initial_seed
from clew.random import manual_seed as manual_seed
from clew.random import seed as seed
from clew.random import set_rng_state as set_rng_state
from clew.settings import (
    are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled,
)
from clew.settings import get_deterministic_debug_mode as get_deterministic_debug_mode
from clew.settings import get_float32_matmul_precision as get_float32_matmul_precision
from clew.settings import get_num_interop_threads as get_num_interop_threads
from clew.settings import get_num_threads as get_num_threads
from clew.settings import (
    is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled,
)
from clew.settings import is_warn_always_enabled as is_warn_always_enabled
from clew.settings import set_deterministic_debug_mode as set_deterministic_debug_mode
from clew.settings import set_float32_matmul_precision as set_float32_matmul_precision
from clew.settings import set_flush_denormal as set_flush_denormal
from clew.settings import set_num_interop_threads as set_num_interop_threads
from clew.settings import set_num_threads as set_num_threads
from clew.settings import set_vital as set_vital
from clew.settings import set_warn_always as set_warn_always
from clew.settings import use_deterministic_algorithms as use_deterministic_algorithms

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

for _name, _function in _public.under_own_names(vars(Tensor)).items():
    setattr(Tensor, _name, _function)
_FUNCTIONS.update(_public.under_own_names(_FUNCTIONS))
globals().update({name: getattr(Tensor, name) for name in _IN_PLACE})
globals().update(_FUNCTIONS)
for _name, _function in _FUNCTIONS.items():
    # Pickles find a function by its module and name.
    if isinstance(_function, _FunctionType) and _function.__module__ != __name__:
        _function.__module__, _function.__qualname__ = __name__, _name
globals().update({d.name: d for d in (*_ALL_DTYPES, *_FLOAT8, *_QUANTIZED, _complex32)}, **_ALIASES)

# What PyTorch was built with; clew has the functions that need it.
has_lapack, has_mkl, has_openmp, has_spectral = True, False, False, True

# Sub-packages that are imported when they are first asked for, so that `import clew` is quick.
_LAZY = frozenset(
    {
        "_C", "__config__", "__future__", "_dynamo", "_inductor", "_utils", "accelerator",
        "amp", "backends", "compiler", "cpu", "cuda", "distributed", "distributions",
        "doctor", "fft", "func", "functional", "fx", "hub", "jit", "linalg", "masked",
        "mps", "multiprocessing", "nested", "nn", "onnx", "optim", "overrides", "profiler",
        "quasirandom", "serialization", "signal", "sparse", "special", "storage", "testing",
        "torch_version", "types", "utils", "xpu",
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
) | dict.fromkeys(
    (
        "sparse_bsc_tensor", "sparse_bsr_tensor", "sparse_compressed_tensor", "sparse_coo_tensor",
        "sparse_csc_tensor", "sparse_csr_tensor",
    ),
    "ops.sparse.construction",
) | dict.fromkeys(
    (
        "_nested_compute_contiguous_strides_offsets", "_nested_from_padded_tensor",
        "_nested_get_jagged_dummy", "_nested_get_lengths", "_nested_get_offsets",
        "_nested_get_ragged_idx", "_nested_get_values", "_nested_tensor_from_mask",
        "_nested_tensor_from_mask_left_aligned", "_nested_tensor_from_tensor_list",
        "_nested_view_from_buffer", "_nested_view_from_jagged",
    ),
    "ops.nested.private",
)  # fmt: skip
# What packages built on PyTorch import besides.
_LAZY |= {
    "_functorch", "_guards", "_higher_order_ops", "_jit_internal", "_library", "_ops",
    "_vmap_internals",
    "_subclasses", "_tensor", "_tensor_str", "ao", "classes", "export", "futures", "library",
    "quantization", "return_types",
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
    from clew import amp as amp
    from clew import backends as backends
    from clew import cpu as cpu
    from clew import cuda as cuda
    from clew import doctor as doctor
    from clew import fft as fft
    from clew import func as func
    from clew import linalg as linalg
    from clew import multiprocessing as multiprocessing
    from clew import nested as nested
    from clew import nn as nn
    from clew import optim as optim
    from clew import profiler as profiler
    from clew import serialization as serialization
    from clew import signal as signal
    from clew import special as special
    from clew import testing as testing
    from clew import utils as utils
    from clew.amp.autocast_mode import autocast as autocast
    from clew.compiler import compile as compile
    from clew.core.functions import *  # noqa: F403  # names of a stub
    from clew.doctor import graph as graph
    from clew.func import vmap as vmap
    from clew.serialization import load as load
    from clew.serialization import save as save


_get_lazily, __dir__ = _on_request(__name__, _LAZY, _LAZY_NAMES)

# As in PyTorch without the parts: `from torch import *` leaves the program's `nn` alone.
__all__ = [
    name for name in sorted({*globals(), *_LAZY_NAMES})
    if not name.startswith("_") and f"{__name__}.{name}" not in _sys.modules
]  # fmt: skip


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
