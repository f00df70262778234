"""Groups of ranks: what performs their collectives, in order, and tells the watchdog of each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from datetime import timedelta
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from clew import errors
from clew.distributed.runtime import checking, mpi
from clew.distributed.runtime.flight_recorder import NUMBER_OF_SLOT, NUMBERS, SLOTS, FlightRecorder
from clew.distributed.runtime.mpi import Solo
from clew.distributed.runtime.work import QueuedWork, WorkQueue
from clew.source import Place, describe, user_where

_thread = threading.get_ident
# A NamedTuple, made as a tuple: half the time.
_new = tuple.__new__


class Entered(NamedTuple):
    """What a thread waits for: a collective of a group (by number), or a message."""

    group: ProcessGroup
    sequence: int
    name: str
    details: tuple[Any, ...]
    place: Place | None
    # The other side of a message, as rank in the world, where it is known.
    peer: int | None = None


# What each thread waits for at the moment.
ENTERED: dict[int, Entered] = {}
# Functions whose `default` is a group whose reduction they wait for, and do not enter it above.
SHORT_WAYS: set[CodeType] = set()
# Arrays of so many bytes may be kept until another one is reduced.
_SMALL = 1 << 14


class ProcessGroup:
    """Ranks that communicate; `init_process_group` and `new_group` make them.

    Example:
        >>> import clew.distributed as dist
        >>> dist.init_process_group("gloo")
        >>> dist.group.WORLD.size()
        1
        >>> dist.destroy_process_group()
    """

    def __init__(
        self, comm: Any, ranks: Sequence[int], name: str, timeout: timedelta, backend: str
    ) -> None:
        self.comm = comm
        # What compares calls must not come between them.
        self.control = comm.Dup()
        self.ranks = list(ranks)
        self.name, self.timeout, self.backend = name, timeout, backend
        self.my_rank, self.count = comm.rank, comm.size
        # The rank in the group by the rank in the world.
        self.place_of = {rank: place for place, rank in enumerate(self.ranks)}
        self.sequence = 0
        self._interval = checking.interval()
        # The codes of calls that were compared, for the flight recorder.
        self._codes: dict[tuple[str, tuple[Any, ...]], int] = {}
        # What reductions need, by number, dtype and shape, and the one that goes on.
        self._reductions: dict[Any, tuple[Any, ...]] = {}
        # The small array that was reduced the long way last, how, and what that needs.
        self.last_reduction: tuple[Any, Any, Any] = (None, None, None)
        self.entered: Entered | None = None
        self.queue: WorkQueue | None = None
        self._alone = isinstance(comm, Solo)
        if not self._alone:
            self._recorder = FlightRecorder(name, self.ranks, self.ranks[self.my_rank])
            self.slots = self._recorder.slots
        self.bound_device_id = None
        # What reductions need, by kind and dtype.
        self.plans: dict[Any, tuple[Any, ...]] = {}

    def rank(self) -> int:
        """This process's rank in the group."""
        return self.my_rank

    def size(self) -> int:
        """The number of ranks in the group."""
        return self.count

    @property
    def group_name(self) -> str:
        """The name of the group."""
        return self.name

    def __repr__(self) -> str:
        return f"<ProcessGroup {self.name}: rank {self.my_rank} of {self.count}>"

    # -- collectives ---------------------------------------------------------------------------

    def run(
        self,
        name: str,
        details: tuple[Any, ...],
        call: Callable[..., Any],
        args: tuple[Any, ...] = (),
        after: Callable[[], None] | None = None,
        async_op: bool = False,
        tensors: Sequence[Any] = (),
    ) -> QueuedWork | None:
        """Perform a collective, in its turn: at once, or in the group's thread."""
        if not async_op and (self.queue is None or not self.queue.is_busy):
            self._perform(name, details, call, args, after, None)
            return None
        if self.queue is not None and self.queue.is_own_thread():
            # A callback of work in this very thread: it would wait for itself.
            done = QueuedWork(
                lambda: self._perform(name, details, call, args, after, None), list(tensors)
            )
            done.perform()
            return done if async_op else None
        place = user_where()
        work = QueuedWork(
            lambda: self._perform(name, details, call, args, after, place), list(tensors)
        )
        if self.queue is None:
            self.queue = WorkQueue(f"clew collectives of group {self.name}")
        self.queue.put(work)
        if async_op:
            return work
        work.wait()
        return None

    def _perform(
        self,
        name: str,
        details: tuple[Any, ...],
        call: Callable[..., Any],
        args: tuple[Any, ...],
        after: Callable[[], None] | None,
        place: Place | None,
    ) -> None:
        self.sequence = number = self.sequence + 1
        thread = _thread()
        ENTERED[thread] = _new(Entered, (self, number, name, details, place, None))
        try:
            if not self._alone:
                code = self._codes.get((name, details), 0)
                if not code or not number % self._interval:
                    code = self._first(name, details, place or user_where())
                self.slots[number & NUMBER_OF_SLOT] = code | (number & NUMBERS)
            call(*args)
        except mpi.failures() as error:
            raise failed(name, details, error) from None
        finally:
            ENTERED.pop(thread, None)
        if after is not None:
            after()

    def known_reduction(self, op: Hashable, array: np.ndarray) -> tuple[Any, ...] | None:
        """What a reduction of an array like one before needs, to go the short way; or None."""
        known = self._reductions.get((op, array.dtype, array.shape))
        if known is None or not array.flags.c_contiguous:
            return None
        entered, code, call, nothing, kind, operation = known
        return entered, code, call, nothing, (array, kind), operation

    def remember(
        self, op: Hashable, array: np.ndarray, details: tuple[Any, ...], args: Any
    ) -> None:
        """The next reduction of arrays of this kind goes the short way."""
        if self._alone or self._interval != SLOTS:
            return
        nothing, (_, kind), operation = args
        entered = Entered(self, 0, "all_reduce", details, None)
        code, call = self._codes["all_reduce", details], self.comm.Allreduce
        known = entered, code, call, nothing, kind, operation
        self._reductions[op, array.dtype, array.shape] = known
        if array.nbytes <= _SMALL:
            buffer = mpi.library().memory.frombuffer(array), array.size, kind
            self.last_reduction = array, op, (entered, code, call, nothing, buffer, operation)

    def waits_in(self) -> Entered | None:
        """The reduction that is being made the short way."""
        entered = self.entered
        return None if entered is None else entered._replace(sequence=self.sequence)

    def _first(self, name: str, details: tuple[Any, ...], place: Place | None) -> int:
        """Compare a call with those of the other ranks, before its first time and now and then.

        What one rank has not called before, no other one has. Returns its code.
        """
        code = self._codes.get((name, details))
        if code is None:
            call = checking.in_words(name, details)
            code = self._codes[name, details] = self._recorder.describe(call, describe(place))
        checking.compare(self, name, details, place)
        return code

    # -- messages ------------------------------------------------------------------------------

    def wait_for(
        self, name: str, details: tuple[Any, ...], peer: int | None, call: Callable[[], Any]
    ) -> Any:
        """Wait for a message, and let the watchdog know of it."""
        thread = _thread()
        ENTERED[thread] = Entered(self, -1, name, details, user_where(), peer)
        try:
            return call()
        except mpi.failures() as error:
            raise failed(name, details, error) from None
        finally:
            ENTERED.pop(thread, None)

    def close(self) -> None:
        """Wait for what is under way; the group cannot be used afterwards."""
        if self.queue is not None:
            self.queue.stop()
            self.queue = None

    def free(self) -> None:
        """Give the communicators back. All ranks of the group must do so."""
        self.close()
        self.control.Free()
        self.comm.Free()


def failed(name: str, details: tuple[Any, ...], error: Any) -> RuntimeError:
    """What MPI says about a call, in the words of the call."""
    what = checking.in_words(name, details)
    said = error.Get_error_string()
    if "TRUNCATE" in said:
        said = "another rank sent more elements than fit: shapes and dtypes must agree"
    return RuntimeError(f"{what}: {said}" + errors.at_user_line())
