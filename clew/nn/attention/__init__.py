"""Which kernel `scaled_dot_product_attention` uses: clew has one, whatever is asked for."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator, Sequence

from clew import errors
from clew.nn.attention import bias
from clew.ops.nn.attention import ALLOWED

__all__ = ["SDPBackend", "bias", "sdpa_kernel"]


class SDPBackend(enum.Enum):
    """The kernels that a program may ask for."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


_NAMED = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "mem_efficient": SDPBackend.EFFICIENT_ATTENTION,
    "math": SDPBackend.MATH,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
}


@contextlib.contextmanager
def sdpa_kernel(
    backends: Sequence[SDPBackend] | SDPBackend, set_priority: bool = False
) -> Iterator[None]:
    """Allow some kernels for a `with` block. The results are those of the only one there is.

    Args:
        backends: one kernel, or several
        set_priority: ignored
    """
    asked = [backends] if isinstance(backends, SDPBackend) else backends
    if not isinstance(asked, Sequence) or not all(isinstance(each, SDPBackend) for each in asked):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances"
            + errors.at_user_line()
        )
    before = dict(ALLOWED)
    ALLOWED.update({name: each in asked for name, each in _NAMED.items()})
    try:
        yield
    finally:
        ALLOWED.update(before)
