"""Settings of a compiler. What programs set here is kept, and nothing reads it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from clew.utils._config import Patch

triton = SimpleNamespace(unique_kernel_names=False, cudagraphs=False, cudagraph_trees=True)
cpp = SimpleNamespace(threads=-1)
coordinate_descent_tuning = coordinate_descent_check_all_directions = False
fx_graph_cache = True
max_autotune = epilogue_fusion = False
conv_1x1_as_mm = force_fuse_int_mm_with_mul = use_mixed_mm = False
freezing = False
compile_threads = 1


def patch(*args: Any, **changes: Any) -> Patch:
    """Change settings for a `with` block or a function."""
    return Patch(globals(), *args, **changes)
