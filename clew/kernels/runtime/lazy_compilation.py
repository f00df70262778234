"""Lazy compilation: functions that are compiled when compiled code first calls them.

They are called through a table of records, as through a linker's table of lazily bound symbols. A
record has the function's address or null, the record that was requested before it, and whether it
has been requested. A caller that finds no address requests it from the compile thread
(compile_thread.py) and waits. It has released the GIL before: any thread may be the first to call,
a worker of the thread pool too, and the compile thread needs the GIL.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from clew.kernels.runtime.jit import Machine

# The words of a record, and the bytes of a word.
_ADDRESS, _NEXT, _REQUESTED = range(3)
_WORDS, _WORD = 3, 8
RECORD = f"[{_WORDS} x i64]"
# How often a thread that waits spins (for some two milliseconds, with workers), and for how many
# microseconds it sleeps between two looks after that.
_SPINS, _SLEEP_MICROSECONDS = 64 * 1024, 50
# The functions of Python's C API that compiled code calls. Those on locks and threads need no GIL.
FROM_PYTHON = (
    "PyGILState_Check", "PyEval_SaveThread", "PyEval_RestoreThread", "PyThread_get_thread_ident",
    "PyThread_acquire_lock_timed", "PyThread_release_lock",
)  # fmt: skip
FOR_KERNELS = ("clew_resolve",)
FOR_PYTHON = (
    "clew_lazy_loop", "clew_take_requests", "clew_publish", "clew_compile_thread",
    "clew_semaphore", "clew_never_released", "clew_serve_requests",
)  # fmt: skip


def source() -> str:
    """The LLVM IR of requests, and of waiting.

    `clew_wait(word, value, wanted)` returns when (word == value) == wanted. It is the only place
    where compiled code waits for another thread.
    """
    return f"""
@clew_requests = internal global i64 0
@clew_compile_thread = global i64 0
@clew_semaphore = global ptr null
@clew_never_released = global ptr null
@clew_serve_requests = global ptr null

declare i32 @PyGILState_Check()
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare i64 @PyThread_get_thread_ident()
declare i32 @PyThread_acquire_lock_timed(ptr, i64, i32)
declare void @PyThread_release_lock(ptr)

define void @clew_wait(ptr %word, i64 %value, i1 %wanted) {{
entry:
  %me = call i64 @PyThread_get_thread_ident()
  %held = call i32 @PyGILState_Check()
  %has_gil = icmp ne i32 %held, 0
  br i1 %has_gil, label %release_gil, label %begin
release_gil:
  %saved = call ptr @PyEval_SaveThread()
  br label %begin
begin:
  %state = phi ptr [ null, %entry ], [ %saved, %release_gil ]
  br label %look
look:
  %spins = phi i32 [ 0, %begin ], [ %more, %again ], [ %more, %sleep ]
  %now = load atomic i64, ptr %word acquire, align 8
  %equal = icmp eq i64 %now, %value
  %over = icmp eq i1 %equal, %wanted
  br i1 %over, label %end, label %who
who:
  %compiler = load atomic i64, ptr @clew_compile_thread acquire, align 8
  %is_mine = icmp eq i64 %compiler, %me
  %is_none = icmp eq i64 %compiler, 0
  %serves = or i1 %is_mine, %is_none
  br i1 %serves, label %check, label %pause
check:
  %first = load atomic i64, ptr @clew_requests acquire, align 8
  %none = icmp eq i64 %first, 0
  br i1 %none, label %pause, label %serve
serve:
  %work = load ptr, ptr @clew_serve_requests, align 8
  call void %work()
  br label %pause
pause:
  %more = add i32 %spins, 1
  %spins_on = icmp slt i32 %more, {_SPINS}
  br i1 %spins_on, label %again, label %sleep
again:
  call void @clew_spin_pause(i32 %more)
  br label %look
sleep:
  ; Waiting for a lock that is never released is a portable way to sleep.
  %never = load ptr, ptr @clew_never_released, align 8
  %slept = call i32 @PyThread_acquire_lock_timed(ptr %never, i64 {_SLEEP_MICROSECONDS}, i32 0)
  br label %look
end:
  br i1 %has_gil, label %take_gil, label %out
take_gil:
  call void @PyEval_RestoreThread(ptr %state)
  br label %out
out:
  ret void
}}

define ptr @clew_resolve(ptr %record) {{
entry:
  %address = load atomic ptr, ptr %record acquire, align 8
  %missing = icmp eq ptr %address, null
  br i1 %missing, label %request, label %out
request:
  call void @clew_request(ptr %record)
  %compiled = load atomic ptr, ptr %record acquire, align 8
  br label %out
out:
  %function = phi ptr [ %address, %entry ], [ %compiled, %request ]
  ret ptr %function
}}

define internal void @clew_request(ptr %record) {{
entry:
  %requested = getelementptr i64, ptr %record, i64 {_REQUESTED}
  %next = getelementptr i64, ptr %record, i64 {_NEXT}
  %this = ptrtoint ptr %record to i64
  %pair = cmpxchg ptr %requested, i64 0, i64 1 acq_rel acquire, align 8
  %is_first = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %is_first, label %put, label %wait
put:
  %last = load atomic i64, ptr @clew_requests monotonic, align 8
  store i64 %last, ptr %next, align 8
  %swap = cmpxchg ptr @clew_requests, i64 %last, i64 %this acq_rel monotonic, align 8
  %is_put = extractvalue {{ i64, i1 }} %swap, 1
  br i1 %is_put, label %signal, label %put
signal:
  %semaphore = load ptr, ptr @clew_semaphore, align 8
  call void @PyThread_release_lock(ptr %semaphore)
  br label %wait
wait:
  call void @clew_wait(ptr %record, i64 0, i1 false)
  ret void
}}

define void @clew_lazy_loop(ptr %args, ptr %dims, ptr %steps, ptr %record) {{
  ; The loop of a ufunc until its own is compiled: calls that through a record.
  %loop = call ptr @clew_resolve(ptr %record)
  call void %loop(ptr %args, ptr %dims, ptr %steps, ptr %record)
  ret void
}}

define i64 @clew_take_requests() {{
  %all = atomicrmw xchg ptr @clew_requests, i64 0 acq_rel, align 8
  ret i64 %all
}}

define void @clew_publish(ptr %record, ptr %function) {{
  store atomic ptr %function, ptr %record release, align 8
  ret void
}}
"""


class Semaphore:
    """A binary semaphore that wakes the compile thread; compiled code releases it without the GIL.

    It is one of Python's C locks: releasing it twice counts once.
    """

    def __init__(self) -> None:
        self.address, self.never_released = _acquired_lock(), _acquired_lock()
        # Waits without the GIL.
        self._acquire = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)(
            _python_function("PyThread_acquire_lock")
        )

    def release(self) -> None:
        ctypes.pythonapi.PyThread_release_lock(ctypes.c_void_p(self.address))

    def acquire(self) -> None:
        """Wait until it is released; return at once if it has been released since."""
        self._acquire(self.address, 1)


def _acquired_lock() -> int:
    allocate = ctypes.PYFUNCTYPE(ctypes.c_void_p)(_python_function("PyThread_allocate_lock"))
    lock: int | None = allocate()
    if lock is None:
        raise MemoryError("no memory for a lock")
    ctypes.pythonapi.PyThread_acquire_lock(ctypes.c_void_p(lock), 1)
    return lock


def _python_function(name: str) -> int:
    """The address of a function of Python's C API."""
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0


def python_symbols() -> dict[str, int]:
    """The addresses of the Python functions that compiled code calls."""
    return {name: _python_function(name) for name in FROM_PYTHON}


class Requests:
    """The requests of compiled code, seen from Python."""

    def __init__(self, address: dict[str, int]) -> None:
        self.loop = address["clew_lazy_loop"]
        # The identifier of the compile thread; 0: whoever waits compiles.
        self.compile_thread = ctypes.c_int64.from_address(address["clew_compile_thread"])
        self._globals = [
            ctypes.c_void_p.from_address(address[name])
            for name in ("clew_semaphore", "clew_never_released", "clew_serve_requests")
        ]
        self._take = ctypes.PYFUNCTYPE(ctypes.c_int64)(address["clew_take_requests"])
        self._publish = ctypes.PYFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)(
            address["clew_publish"]
        )

    def attach(self, semaphore: Semaphore, serve: Callable[[], None]) -> None:
        """Set the semaphore that requests release, and what a thread calls to serve them itself."""
        # Called from compiled code, so it must live as long as the process.
        self._serve = ctypes.CFUNCTYPE(None)(serve)
        serving = ctypes.cast(self._serve, ctypes.c_void_p).value
        values = semaphore.address, semaphore.never_released, serving
        for variable, value in zip(self._globals, values, strict=True):
            variable.value = value

    def take(self) -> Iterator[int]:
        """The records that were requested since the last time."""
        record = self._take()
        while record:
            following = _word(record, _NEXT).value
            yield record
            record = following

    def publish(self, record: int, function: int) -> None:
        """Store an address in a record: threads that wait for it go on."""
        self._publish(record, function)

    def clear(self, records: Iterable[int]) -> None:
        """Drop all requests."""
        self._take()
        for record in records:
            _word(record, _REQUESTED).value = 0


def _word(record: int, index: int) -> Any:
    return ctypes.c_int64.from_address(record + _WORD * index)


class LazyFunction(NamedTuple):
    """A function, in a module of its own: `define void @name(...)`."""

    name: str
    module: Callable[[], str]


class LazyTable:
    """A table of records; entries that nobody calls are None."""

    def __init__(
        self, machine: Machine, key: str, functions: Sequence[LazyFunction | None]
    ) -> None:
        self.records = (ctypes.c_int64 * (_WORDS * len(functions)))()
        for index, each in enumerate(functions):
            if each is not None:
                # The key says what the module depends on besides the function's name.
                compile = partial(machine.function, f"{each.name} {key}", each.module, each.name)
                machine.compile_lazily(self.address + _WORDS * _WORD * index, compile)

    @property
    def address(self) -> int:
        return ctypes.addressof(self.records)


class Records:
    """Records outside of a table, one after the other."""

    def __init__(self, count: int) -> None:
        self._words = (ctypes.c_int64 * (_WORDS * count))()

    def __getitem__(self, index: int) -> int:
        return ctypes.addressof(self._words) + _WORDS * _WORD * index
