"""The older names of `clew.amp` for CUDA."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from clew import amp as _amp
from clew.aliasing import on_request as _on_request
from clew.amp.settings import warn_of_older_name as _warn_of_older_name
from clew.backend import dtypes

# Imported when they are first asked for.
__getattr__, __dir__ = _on_request(__name__, {"autocast_mode", "common", "grad_scaler"})

__all__ = ["GradScaler", "amp_definitely_not_available", "autocast", "custom_bwd", "custom_fwd"]


def amp_definitely_not_available() -> bool:
    """Whether mixed precision on CUDA is out of the question: it is."""
    return True


class autocast(_amp.autocast):
    """`clew.amp.autocast("cuda", ...)`."""

    def __init__(
        self,
        enabled: bool = True,
        dtype: dtypes.dtype = dtypes.float16,
        cache_enabled: bool = True,
    ) -> None:
        _warn_of_older_name("cuda.amp.autocast", "autocast('cuda', args...)")
        super().__init__("cuda", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(_amp.GradScaler):
    """`clew.amp.GradScaler("cuda", ...)`."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        _warn_of_older_name("cuda.amp.GradScaler", "GradScaler('cuda', args...)")
        super().__init__(
            "cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled
        )


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, cast_inputs: dtypes.dtype | None = None
) -> Callable[..., Any]:
    """`clew.amp.custom_fwd(device_type="cuda")`."""
    _warn_of_older_name("cuda.amp.custom_fwd", "custom_fwd(args..., device_type='cuda')")
    return functools.partial(_amp.custom_fwd, device_type="cuda")(fwd, cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable[..., Any]) -> Callable[..., Any]:
    """`clew.amp.custom_bwd(device_type="cuda")`."""
    _warn_of_older_name("cuda.amp.custom_bwd", "custom_bwd(args..., device_type='cuda')")
    return _amp.custom_bwd(bwd, device_type="cuda")
