"""MPI: loaded on first use, with its types and reductions for clew's arrays.

mpi4py is an optional dependency (the extra `mpi`). One process needs none of it: `Solo` answers.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes

# Which variables say the rank and the number of ranks: Open MPI, MPICH and its kin, Slurm's steps.
_LAUNCHERS = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"),
)


def started_as() -> tuple[int, int, int] | None:
    """Rank, number of ranks and rank on this machine, as whoever started this process says.

    None where no MPI launcher did.
    """
    for rank, size, local_rank in _LAUNCHERS:
        if rank in os.environ and size in os.environ:
            local = os.environ.get(local_rank, os.environ[rank])
            return int(os.environ[rank]), int(os.environ[size]), int(local)
    return None


_LOCAL_SIZES = ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_TASKS_PER_NODE")


def ranks_of_machine(size: int) -> int:
    """How many ranks this machine has, as whoever started them says; all if nobody does."""
    for name in _LOCAL_SIZES:
        # Slurm says `4(x2),3`: four on the first two machines.
        digits = re.match(r"\d+", os.environ.get(name, ""))
        if digits:
            return int(digits[0])
    return size


# Open MPI's ranks would spin while they wait, on cores that the program's own threads and other
# ranks compute on.
YIELDS = ("OMPI_MCA_mpi_yield_when_idle", "1")


@functools.cache
def library() -> Any:
    """The module `mpi4py.MPI`. Importing it joins this process to the others."""
    os.environ.setdefault(*YIELDS)
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise RuntimeError(
            f"torch.distributed over several processes needs MPI: {error}. Install it with "
            "`pip install 'clew[mpi]'` (mpi4py and Open MPI), or mpi4py for the MPI of your cluster"
            + errors.at_user_line()
        ) from None
    return MPI


def failures() -> tuple[type[Exception], ...]:
    """What calls of MPI raise, where it is loaded."""
    return (library().Exception,) if library.cache_info().currsize else ()


# -- types and reductions --------------------------------------------------------------------------

_TYPES = {
    "bool": "C_BOOL", "int8": "INT8_T", "int16": "INT16_T", "int32": "INT32_T", "int64": "INT64_T",
    "uint8": "UINT8_T", "uint16": "UINT16_T", "uint32": "UINT32_T", "uint64": "UINT64_T",
    "float32": "FLOAT", "float64": "DOUBLE", "complex64": "C_FLOAT_COMPLEX",
    "complex128": "C_DOUBLE_COMPLEX", "float16": "UINT16_T", "bfloat16": "UINT16_T",
}  # fmt: skip
_REDUCTIONS = {
    "SUM": "SUM", "AVG": "SUM", "PREMUL_SUM": "SUM", "PRODUCT": "PROD", "MIN": "MIN", "MAX": "MAX",
    "BAND": "BAND", "BOR": "BOR", "BXOR": "BXOR",
}  # fmt: skip
_OF_BOOL = {
    "SUM": "LOR", "PRODUCT": "LAND", "MIN": "LAND", "MAX": "LOR",
    "BAND": "LAND", "BOR": "LOR", "BXOR": "LXOR",
}  # fmt: skip
_OF_HALF = {"SUM": np.add, "PROD": np.multiply, "MIN": np.minimum, "MAX": np.maximum}


def buffer(array: np.ndarray) -> Any:
    """What mpi4py takes for an array without gaps: the array and its type."""
    kind = _datatypes().get(array.dtype)
    # MPI moves types that it does not know as bytes.
    return (array, kind) if kind is not None else (array.view(np.uint8), _byte())


@functools.cache
def _datatypes() -> dict[np.dtype, Any]:
    MPI = library()
    return {d.np: getattr(MPI, _TYPES[d.name]) for d in dtypes.ALL_DTYPES if d.name in _TYPES}


@functools.cache
def _byte() -> Any:
    return library().BYTE


@functools.cache
def reduction(op: str, dtype: np.dtype) -> Any:
    """MPI's operation for a reduction of PyTorch's name. Half precision has one of ours."""
    MPI, name = library(), dtypes.BY_NUMPY[dtype].name
    if name == "bool" and op in _OF_BOOL:
        return getattr(MPI, _OF_BOOL[op])
    kind = _REDUCTIONS[op]
    bitwise, ordered = kind in ("BAND", "BOR", "BXOR"), kind in ("MIN", "MAX")
    if (
        name not in _TYPES
        or (bitwise and dtype.kind not in "iu")
        or (ordered and dtype.kind == "c")
    ):
        raise ValueError(f"Cannot use ReduceOp.{op} with torch.{name}" + errors.at_user_line())
    if name in ("float16", "bfloat16"):
        return MPI.Op.Create(_reduce_halves(_OF_HALF[kind], dtype), commute=True)
    return getattr(MPI, kind)


def _reduce_halves(function: Any, dtype: np.dtype) -> Callable[[Any, Any, Any], None]:
    """MPI has no half precision: it hands us bytes, and takes what NumPy makes of them."""

    def reduce(given: Any, kept: Any, datatype: Any) -> None:
        target = np.frombuffer(kept, dtype)
        function(np.frombuffer(given, dtype), target, out=target)

    return reduce


# -- one process -----------------------------------------------------------------------------------


class Solo:
    """A communicator of one process: what it sends is what it receives, without MPI."""

    rank, size = 0, 1

    def Barrier(self) -> None:
        """Nobody else is waited for."""

    def Allreduce(self, send: Any, receive: Any, op: Any) -> None:
        """The sum of one is itself."""

    def Bcast(self, given: Any, root: int) -> None:
        """What is sent is there."""

    def Reduce(self, send: Any, receive: Any, op: Any, root: int) -> None:
        """The sum of one is itself."""

    def Allgather(self, send: Any, receive: Any) -> None:
        """What is sent is received."""
        receive[0].reshape(-1)[:] = send[0].reshape(-1)

    def Alltoallv(self, send: Any, receive: Any) -> None:
        """What is sent is received."""
        receive[0].reshape(-1)[:] = send[0].reshape(-1)

    def Reduce_scatter_block(self, send: Any, receive: Any, op: Any) -> None:
        """What is sent is received."""
        self.Allgather(send, receive)

    def Gather(self, send: Any, receive: Any, root: int) -> None:
        """What is sent is received."""
        self.Allgather(send, receive)

    def Scatter(self, send: Any, receive: Any, root: int) -> None:
        """What is sent is received."""
        self.Allgather(send, receive)

    def allgather(self, value: Any) -> list[Any]:
        """The objects of all."""
        return [value]

    def bcast(self, value: Any, root: int) -> Any:
        """The object of the root."""
        return value

    def gather(self, value: Any, root: int) -> list[Any]:
        """The objects of all, at the root."""
        return [value]

    def scatter(self, values: list[Any], root: int) -> Any:
        """This process's object."""
        return values[0]

    def Dup(self) -> Solo:
        """Another one."""
        return Solo()

    def Free(self) -> None:
        """There is nothing to give back."""
