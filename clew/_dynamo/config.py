"""Settings of a compiler. What programs set here is kept, and nothing reads it."""

from __future__ import annotations

from typing import Any

from clew.utils._config import Patch

cache_size_limit = recompile_limit = 8
accumulated_cache_size_limit = accumulated_recompile_limit = 256
suppress_errors = False
verbose = False
optimize_ddp: Any = True
capture_scalar_outputs = False
capture_dynamic_output_shape_ops = False
assume_static_by_default = True
automatic_dynamic_shapes = True
inline_inbuilt_nn_modules = True
allow_unspec_int_on_nn_module = False
force_parameter_static_shapes = True
guard_nn_modules = False
log_level = 30
error_on_recompile = False
dynamic_shapes = True
specialize_int = False
allow_rnn = False
traceable_tensor_subclasses: set[type] = set()


def patch(*args: Any, **changes: Any) -> Patch:
    """Change settings for a `with` block or a function."""
    return Patch(globals(), *args, **changes)
