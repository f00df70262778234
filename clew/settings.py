"""Settings that programs of PyTorch's make: threads, determinism, precision of products.

Compiled kernels and the BLAS library that NumPy brings for matrix products share the work on large
arrays among as many threads as are set here; at first what OMP_NUM_THREADS says, or the number of
cores. All operations are deterministic: asking for it only fills memory that nobody has written to.
float32 products have float32's precision: settings of that are kept, and change nothing.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

from clew import errors
from clew.backend.determinism import Determinism
from clew.kernels.runtime import jit


class _Settings:
    interop_threads = 1
    precision = "highest"


def get_num_threads() -> int:
    """The number of threads that kernels and matrix products may use.

    Example:
        >>> clew.get_num_threads() >= 1
        True
    """
    return jit.threads()


def set_num_threads(int: int) -> None:
    """Let kernels and matrix products use this many threads.

    Args:
        int: the number of threads

    Example:
        >>> before = clew.get_num_threads()
        >>> clew.set_num_threads(1)
        >>> clew.get_num_threads()
        1
        >>> clew.set_num_threads(before)
    """
    count = _positive("set_num_threads", int)
    jit.set_threads(count)
    for library in _blas_libraries():
        library.set_num_threads(count)


@functools.cache
def _blas_libraries() -> list[Any]:
    """The controls of the BLAS libraries that are loaded; NumPy has loaded its own by now."""
    import threadpoolctl  # late, as most programs leave the number of threads as it is

    found: list[Any] = threadpoolctl.ThreadpoolController().select(user_api="blas").lib_controllers
    return found


def get_num_interop_threads() -> int:
    """The number of operations that run at once: one, unless the program has threads.

    Example:
        >>> clew.get_num_interop_threads() >= 1
        True
    """
    return _Settings.interop_threads


def set_num_interop_threads(int: int) -> None:
    """Keep a number of threads between operations; nothing reads it but its counterpart.

    Args:
        int: the number of threads

    Example:
        >>> clew.set_num_interop_threads(clew.get_num_interop_threads())
    """
    _Settings.interop_threads = _positive("set_num_interop_threads", int)


def _positive(function: str, count: Any) -> int:
    if not hasattr(type(count), "__index__") or isinstance(count, bool):
        raise RuntimeError(
            f"{function} expects an int, but got {type(count).__name__}" + errors.at_user_line()
        )
    count = operator.index(count)
    if abs(count) >> 63:
        raise ValueError("Overflow when unpacking long long" + errors.at_user_line())
    if count <= 0:
        raise RuntimeError(
            f"{function} expects a positive integer: got {count}" + errors.at_user_line()
        )
    return count


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for deterministic operations: they all are.

    Args:
        mode: whether to ask
        warn_only: whether others should warn instead of raise

    Example:
        >>> clew.use_deterministic_algorithms(True)
        >>> clew.are_deterministic_algorithms_enabled()
        True
        >>> clew.use_deterministic_algorithms(False)
    """
    name = "_set_deterministic_algorithms"
    if not isinstance(mode, bool):
        raise errors.wrong_argument(name, "mode", 1, "bool", mode)
    if not isinstance(warn_only, bool):
        raise TypeError(
            f"{name}(): argument 'warn_only' must be bool, not {type(warn_only).__name__}"
            + errors.at_user_line()
        )
    Determinism.enabled = mode
    Determinism.warn_only = warn_only


def are_deterministic_algorithms_enabled() -> bool:
    """Whether deterministic operations were asked for.

    Example:
        >>> clew.are_deterministic_algorithms_enabled()
        False
    """
    return Determinism.enabled


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether an operation that is not deterministic should only warn: there is none.

    Example:
        >>> clew.is_deterministic_algorithms_warn_only_enabled()
        False
    """
    return Determinism.warn_only


_DEBUG_MODES = ("default", "warn", "error")


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Ask for deterministic operations by a number or name.

    Args:
        debug_mode: 0 or "default", 1 or "warn", 2 or "error"

    Example:
        >>> clew.set_deterministic_debug_mode("warn")
        >>> clew.get_deterministic_debug_mode()
        1
        >>> clew.set_deterministic_debug_mode("default")
    """
    level = _DEBUG_MODES.index(debug_mode) if debug_mode in _DEBUG_MODES else debug_mode
    if isinstance(level, str):
        raise RuntimeError(
            "invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got "
            f"{debug_mode}" + errors.at_user_line()
        )
    if level not in range(len(_DEBUG_MODES)):
        raise RuntimeError(
            f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}"
            + errors.at_user_line()
        )
    use_deterministic_algorithms(bool(level > 0), warn_only=bool(level == 1))


def get_deterministic_debug_mode() -> int:
    """0 if deterministic operations were not asked for, 1 if with a warning, 2 if with an error.

    Example:
        >>> clew.get_deterministic_debug_mode()
        0
    """
    return int(Determinism.enabled) * (1 if Determinism.warn_only else 2)


def set_warn_always(b: bool, /) -> None:
    """Let warnings that a process gives once be given each time.

    Args:
        b: whether to

    Example:
        >>> clew.set_warn_always(True)
        >>> clew.is_warn_always_enabled()
        True
        >>> clew.set_warn_always(False)
    """
    if not isinstance(b, bool):
        raise TypeError(
            f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}" + errors.at_user_line()
        )
    errors.Warnings.always = b


def is_warn_always_enabled() -> bool:
    """Whether warnings that a process gives once are given each time.

    Example:
        >>> clew.is_warn_always_enabled()
        False
    """
    return errors.Warnings.always


def set_flush_denormal(mode: bool) -> bool:
    """Ask for tiny numbers to become zero. NumPy has no such switch: False says it was not set.

    Args:
        mode: whether to ask

    Example:
        >>> clew.set_flush_denormal(True)
        False
    """
    return False


def set_vital(name: str, attr: str, value: str) -> None:
    """Note a fact for PyTorch's own statistics. There are none, and nothing is kept.

    Args:
        name: what the fact is of
        attr: which of its facts
        value: the fact

    Example:
        >>> clew.set_vital("Dataloader", "enabled", "True")
    """


def set_float32_matmul_precision(precision: str) -> None:
    """Allow float32 products to be less precise; they never are.

    Args:
        precision: "highest", "high" or "medium"

    Example:
        >>> clew.set_float32_matmul_precision("high")
        >>> clew.get_float32_matmul_precision()
        'high'
        >>> clew.set_float32_matmul_precision("highest")
    """
    if precision not in ("highest", "high", "medium"):
        raise ValueError(
            f"{precision!r} is not one of 'highest', 'high', or 'medium'" + errors.at_user_line()
        )
    _Settings.precision = precision


def get_float32_matmul_precision() -> str:
    """What was set by `set_float32_matmul_precision`.

    Example:
        >>> clew.get_float32_matmul_precision()
        'highest'
    """
    return _Settings.precision
