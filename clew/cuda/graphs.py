"""CUDA graphs: their names exist, and making one raises, because there is no GPU."""

from __future__ import annotations

from typing import Any, NoReturn

from clew.cuda.streams import _refuse

__all__ = [
    "CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing",
    "make_graphed_callables",
]  # fmt: skip


class CUDAGraph:
    """Work of a GPU that is recorded. For annotations; making one raises.

    Args:
        keep_graph: whether the recording can be read later

    Example:
        >>> clew.cuda.CUDAGraph()
        Traceback (most recent call last):
        ...
        RuntimeError: Tried to instantiate dummy base class CUDAGraph...
    """

    def __init__(self, keep_graph: bool = False) -> None:
        _refuse("CUDAGraph", is_class=True)


class graph:
    """Records a GPU's work. Making one raises.

    Args:
        cuda_graph: the recording
        pool: its memory
        stream: where the work is recorded
        capture_error_mode: what is allowed meanwhile

    Example:
        >>> clew.cuda.graph(None)
        Traceback (most recent call last):
        ...
        RuntimeError: torch.cuda.Stream requires CUDA support...
    """

    def __init__(
        self,
        cuda_graph: Any,
        pool: Any = None,
        stream: Any = None,
        capture_error_mode: str = "global",
    ) -> None:
        _refuse("Stream")


def graph_pool_handle() -> NoReturn:
    """Raises: there is no GPU.

    Example:
        >>> clew.cuda.graph_pool_handle()
        Traceback (most recent call last):
        ...
        RuntimeError: Tried to instantiate dummy base class _graph_pool_handle...
    """
    _refuse("_graph_pool_handle", is_class=True)


def make_graphed_callables(
    callables: Any,
    sample_args: Any,
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: Any = None,
) -> NoReturn:
    """Raises: there is no GPU.

    Args:
        callables, sample_args, num_warmup_iters, allow_unused_input, pool: for a GPU

    Example:
        >>> clew.cuda.make_graphed_callables(nn.Identity(), ())
        Traceback (most recent call last):
        ...
        RuntimeError: Tried to instantiate dummy base class CUDAGraph...
    """
    _refuse("CUDAGraph", is_class=True)


def is_current_stream_capturing() -> bool:
    """Whether a GPU's work is being recorded: no.

    Example:
        >>> clew.cuda.is_current_stream_capturing()
        False
    """
    return False
