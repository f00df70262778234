"""Lazy compilation: functions that are compiled when compiled code first calls them.

They are called through a table of records. A record has the function's address or null, the record
that was asked for before it, and whether it has been asked for. Who finds no address asks the
compile thread for it (compile_thread.py) and waits, and has released the GIL before: any thread may
be the first to call, a worker of the thread pool too, and whoever compiles needs the GIL.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from clew.kernels.runtime.jit import Machine

# A record's words, and their bytes.
_ADDRESS, _NEXT, _ASKED = range(3)
_WORDS, _WORD = 3, 8
RECORD = f"[{_WORDS} x i64]"
# How often a thread that waits looks again at once (for some two milliseconds, with workers), and
# after how many microseconds later on.
_LOOKS, _PAUSE = 64 * 1024, 50
# What compiled code calls of Python: of its locks and threads, only what needs no lock of Python's.
FROM_PYTHON = (
    "PyGILState_Check", "PyEval_SaveThread", "PyEval_RestoreThread", "PyThread_get_thread_ident",
    "PyThread_acquire_lock_timed", "PyThread_release_lock",
)  # fmt: skip
FOR_KERNELS = ("clew_function",)
FOR_PYTHON = (
    "clew_loop", "clew_take_wanted", "clew_publish", "clew_compiler", "clew_bell", "clew_never",
    "clew_serve",
)  # fmt: skip


def source() -> str:
    """LLVM IR of asking and waiting.

    `clew_wait(word, value, wanted)` returns when the truth of word == value is the wanted one. It
    is the only place where a thread waits for another.
    """
    return f"""
@clew_wanted = internal global i64 0
@clew_compiler = global i64 0
@clew_bell = global ptr null
@clew_never = global ptr null
@clew_serve = global ptr null

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
  %holds = icmp ne i32 %held, 0
  br i1 %holds, label %let_go, label %begin
let_go:
  %saved = call ptr @PyEval_SaveThread()
  br label %begin
begin:
  %state = phi ptr [ null, %entry ], [ %saved, %let_go ]
  br label %look
look:
  %looks = phi i32 [ 0, %begin ], [ %more, %again ], [ %more, %sleep ]
  %now = load atomic i64, ptr %word acquire, align 8
  %equal = icmp eq i64 %now, %value
  %over = icmp eq i1 %equal, %wanted
  br i1 %over, label %end, label %who
who:
  %compiler = load atomic i64, ptr @clew_compiler acquire, align 8
  %is_mine = icmp eq i64 %compiler, %me
  %is_nobodys = icmp eq i64 %compiler, 0
  %serves = or i1 %is_mine, %is_nobodys
  br i1 %serves, label %asked, label %pause
asked:
  %first = load atomic i64, ptr @clew_wanted acquire, align 8
  %none = icmp eq i64 %first, 0
  br i1 %none, label %pause, label %serve
serve:
  %work = load ptr, ptr @clew_serve, align 8
  call void %work()
  br label %pause
pause:
  %more = add i32 %looks, 1
  %soon = icmp slt i32 %more, {_LOOKS}
  br i1 %soon, label %again, label %sleep
again:
  call void @clew_pause(i32 %more)
  br label %look
sleep:
  ; A lock that is never free: a portable way to sleep.
  %never = load ptr, ptr @clew_never, align 8
  %slept = call i32 @PyThread_acquire_lock_timed(ptr %never, i64 {_PAUSE}, i32 0)
  br label %look
end:
  br i1 %holds, label %take, label %out
take:
  call void @PyEval_RestoreThread(ptr %state)
  br label %out
out:
  ret void
}}

define ptr @clew_function(ptr %record) {{
entry:
  %there = load atomic ptr, ptr %record acquire, align 8
  %missing = icmp eq ptr %there, null
  br i1 %missing, label %ask, label %out
ask:
  call void @clew_ask(ptr %record)
  %made = load atomic ptr, ptr %record acquire, align 8
  br label %out
out:
  %function = phi ptr [ %there, %entry ], [ %made, %ask ]
  ret ptr %function
}}

define internal void @clew_ask(ptr %record) {{
entry:
  %asked = getelementptr i64, ptr %record, i64 {_ASKED}
  %next = getelementptr i64, ptr %record, i64 {_NEXT}
  %this = ptrtoint ptr %record to i64
  %pair = cmpxchg ptr %asked, i64 0, i64 1 acq_rel acquire, align 8
  %is_first = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %is_first, label %put, label %wait
put:
  %last = load atomic i64, ptr @clew_wanted monotonic, align 8
  store i64 %last, ptr %next, align 8
  %swap = cmpxchg ptr @clew_wanted, i64 %last, i64 %this acq_rel monotonic, align 8
  %is_put = extractvalue {{ i64, i1 }} %swap, 1
  br i1 %is_put, label %ring, label %put
ring:
  %bell = load ptr, ptr @clew_bell, align 8
  call void @PyThread_release_lock(ptr %bell)
  br label %wait
wait:
  call void @clew_wait(ptr %record, i64 0, i1 false)
  ret void
}}

define void @clew_loop(ptr %args, ptr %dims, ptr %steps, ptr %record) {{
  ; The loop of a ufunc before its own is there: the same, through a record.
  %loop = call ptr @clew_function(ptr %record)
  call void %loop(ptr %args, ptr %dims, ptr %steps, ptr %record)
  ret void
}}

define i64 @clew_take_wanted() {{
  %all = atomicrmw xchg ptr @clew_wanted, i64 0 acq_rel, align 8
  ret i64 %all
}}

define void @clew_publish(ptr %record, ptr %function) {{
  store atomic ptr %function, ptr %record release, align 8
  ret void
}}
"""


class Bell:
    """Wakes the compiler thread; compiled code rings it, too, without Python's lock."""

    def __init__(self) -> None:
        self.address, self.never = _closed_lock(), _closed_lock()
        # Waits without Python's lock.
        self._acquire = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)(
            _python("PyThread_acquire_lock")
        )

    def ring(self) -> None:
        ctypes.pythonapi.PyThread_release_lock(ctypes.c_void_p(self.address))

    def wait(self) -> None:
        """Until somebody rings; at once, if somebody has rung since."""
        self._acquire(self.address, 1)


def _closed_lock() -> int:
    allocate = ctypes.PYFUNCTYPE(ctypes.c_void_p)(_python("PyThread_allocate_lock"))
    lock: int | None = allocate()
    if lock is None:
        raise MemoryError("no memory for a lock")
    ctypes.pythonapi.PyThread_acquire_lock(ctypes.c_void_p(lock), 1)
    return lock


def _python(name: str) -> int:
    """The address of a function of Python's own."""
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0


def from_python() -> dict[str, int]:
    """What compiled code calls of Python."""
    return {name: _python(name) for name in FROM_PYTHON}


class Requests:
    """What compiled code has asked for, seen from Python."""

    def __init__(self, address: dict[str, int]) -> None:
        self.loop = address["clew_loop"]
        # The thread that serves; 0: whoever waits does.
        self.compiler = ctypes.c_int64.from_address(address["clew_compiler"])
        self._globals = [
            ctypes.c_void_p.from_address(address[name])
            for name in ("clew_bell", "clew_never", "clew_serve")
        ]
        self._take = ctypes.PYFUNCTYPE(ctypes.c_int64)(address["clew_take_wanted"])
        self._publish = ctypes.PYFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)(
            address["clew_publish"]
        )

    def attach(self, bell: Bell, serve: Callable[[], None]) -> None:
        """Say what to ring, and what those call who wait and serve themselves."""
        # Called from compiled code, so it must live as long as the process.
        self._serve = ctypes.CFUNCTYPE(None)(serve)
        serving = ctypes.cast(self._serve, ctypes.c_void_p).value
        for place, value in zip(self._globals, (bell.address, bell.never, serving), strict=True):
            place.value = value

    def take(self) -> Iterator[int]:
        """The records that were asked for since the last time."""
        record = self._take()
        while record:
            following = _word(record, _NEXT).value
            yield record
            record = following

    def publish(self, record: int, function: int) -> None:
        """Put an address into a record: whoever waits for it goes on."""
        self._publish(record, function)

    def forget(self, records: Iterable[int]) -> None:
        """Nobody has asked for anything."""
        self._take()
        for record in records:
            _word(record, _ASKED).value = 0


def _word(record: int, place: int) -> Any:
    return ctypes.c_int64.from_address(record + _WORD * place)


class Function(NamedTuple):
    """A function of its own module: `define void @name(...)`."""

    name: str
    module: Callable[[], str]


class OnDemand:
    """The table of some functions; entries that nobody calls are None."""

    def __init__(self, machine: Machine, key: str, functions: Sequence[Function | None]) -> None:
        self.records = (ctypes.c_int64 * (_WORDS * len(functions)))()
        for index, each in enumerate(functions):
            if each is not None:
                # What the module depends on besides the name of its function is in the key.
                make = partial(machine.function, f"{each.name} {key}", each.module, each.name)
                machine.on_demand(self.address + _WORDS * _WORD * index, make)

    @property
    def address(self) -> int:
        return ctypes.addressof(self.records)


class Records:
    """Records that are not called through a table, one after the other."""

    def __init__(self, count: int) -> None:
        self._words = (ctypes.c_int64 * (_WORDS * count))()

    def __getitem__(self, index: int) -> int:
        return ctypes.addressof(self._words) + _WORDS * _WORD * index
