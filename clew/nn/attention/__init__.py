"""Which kernel `scaled_dot_product_attention` uses: clew has one, whatever is asked for."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator, Sequence

from clew import errors
from clew.nn.attention import bias

__all__ = ["SDPBackend", "bias", "sdpa_kernel"]


class SDPBackend(enum.Enum):
    """The kernels that a program may ask for."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextlib.contextmanager
def sdpa_kernel(
    backends: Sequence[SDPBackend] | SDPBackend, set_priority: bool = False
) -> Iterator[None]:
    """Allow some kernels for a `with` block. The results are those of the only one there is."""
    asked = [backends] if isinstance(backends, SDPBackend) else backends
    if not isinstance(asked, Sequence) or not all(isinstance(each, SDPBackend) for each in asked):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances"
            + errors.at_user_line()
        )
    yield
