"""The thread pool, in LLVM IR: `clew_parallel_for` runs a kernel's body over chunks of a range.

The calling thread publishes a job and then takes chunks itself; workers that are awake take chunks,
too. Nobody waits for a worker that sleeps: if none wakes in time, the caller does all the work. A
worker spins for a millisecond after a job, then sleeps until the job's number changes (waiting.py).
Between jobs, workers run asynchronous jobs (async_jobs.py). Workers beyond the number that is set
sleep on a word of their own: one that is woken for a job must be one that may work.

Every thread has a part of the chunks of its own, which it takes first, and takes those of others
when it is done: so each has mostly the same part of the arrays in one kernel after another, and
finds it in its cache. The ticket of a part is one word: the number of the job, and how many of its
chunks are taken. A ticket of an earlier job means that none is. Tickets are changed by
compare-and-swap, so that a slow worker can never take a chunk of a job that is over: a job ends
when all are taken.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

from clew.kernels.runtime import waiting
from clew.kernels.runtime.cpu import HOST, Platform

# How often a thread spins before it yields its core.
YIELD = 1024
# The ticket's bits: chunks that are taken, then the number of the job.
_BITS = 20
_MAX_CHUNKS = 1 << _BITS - 1
MAX_THREADS = 64
FOR_KERNELS = ("clew_parallel_for", "clew_threads")
FOR_PYTHON = (
    "clew_worker", "clew_set_workers", "clew_reset_after_fork", "clew_wait_for_jobs",
    "clew_pending_jobs",
)  # fmt: skip
# The stack of a worker: macOS gives other threads than the first half a megabyte.
_STACK_BYTES = 8 << 20
# More than the `pthread_attr_t` of any C library has.
_ATTRIBUTES_BYTES = 256


def source(platform: Platform = HOST) -> str:
    """The LLVM IR of the pool."""
    if not platform.has_workers:
        return _serial()
    return waiting.source(platform) + _threaded(platform)


def _serial_loop(before: str) -> str:
    """All chunks in the calling thread, after the block `before`."""
    return f"""  br label %chunk
chunk:
  %from = phi i64 [ 0, %{before} ], [ %to, %chunk ]
  %next = add i64 %from, %grain
  %beyond = icmp sgt i64 %next, %total
  %to = select i1 %beyond, i64 %total, i64 %next
  call void %fn(ptr %context, i64 %from, i64 %to)
  %over = icmp sge i64 %to, %total
  br i1 %over, label %out, label %chunk
out:
  ret void
"""


def _serial() -> str:
    return f"""
define void @clew_parallel_for(ptr %fn, ptr %context, i64 %total, i64 %grain) {{
entry:
{_serial_loop("entry")}}}

define ptr @clew_worker(ptr %index) {{
  ret ptr null
}}

define i64 @clew_threads() {{
  ret i64 1
}}

define void @clew_set_workers(i32 %count) {{
  ret void
}}

define void @clew_reset_after_fork() {{
  ret void
}}

define internal void @clew_spin_pause(i32 %times) {{
  ret void
}}
"""


def _threaded(platform: Platform) -> str:
    line, spins, pause = platform.cache_line, waiting.spins(platform), waiting.pause(platform)
    return f"""
@workers = global i32 0
@busy = global i32 0
@job = global i32 0
@sleepers = global i32 0
@tickets = global [{MAX_THREADS} x [{line // 8} x i64]] zeroinitializer, align {line}
; The number of the job whose fields follow, or 0 while they change.
@current = global i64 0
@published = global i64 0
@finished = global i64 0
@fn = global ptr null
@context = global ptr null
@total = global i64 0
@grain = global i64 0
@parts = global i64 0

declare i32 @sched_yield()

define internal void @run_chunks(i64 %index) {{
entry:
  %number = load atomic i64, ptr @current acquire, align 8
  %fn = load atomic ptr, ptr @fn monotonic, align 8
  %context = load atomic ptr, ptr @context monotonic, align 8
  %total = load atomic i64, ptr @total monotonic, align 8
  %grain = load atomic i64, ptr @grain monotonic, align 8
  %parts = load atomic i64, ptr @parts monotonic, align 8
  ; Acquire fence: the fields belong to the job if its number is still the same.
  fence acquire
  %again = load atomic i64, ptr @current monotonic, align 8
  %same = icmp eq i64 %number, %again
  %open = icmp ne i64 %number, 0
  %valid = and i1 %same, %open
  br i1 %valid, label %start, label %out
start:
  %rest = sub i64 %total, 1
  %last = udiv i64 %rest, %grain
  %chunks = add i64 %last, 1
  %own = urem i64 %index, %parts
  %owned = shl i64 %number, {_BITS}
  br label %part
part:
  %visited = phi i64 [ 0, %start ], [ %visit, %following ]
  %turn = add i64 %own, %visited
  %this = urem i64 %turn, %parts
  %after = add i64 %this, 1
  %low = mul i64 %this, %chunks
  %first = udiv i64 %low, %parts
  %high = mul i64 %after, %chunks
  %beyond = udiv i64 %high, %parts
  %count = sub i64 %beyond, %first
  %place = getelementptr [{line // 8} x i64], ptr @tickets, i64 %this
  br label %next
next:
  %ticket = load atomic i64, ptr %place acquire, align 8
  %owner = lshr i64 %ticket, {_BITS}
  %is_new = icmp ult i64 %owner, %number
  %is_mine = icmp eq i64 %owner, %number
  %low_bits = and i64 %ticket, {(1 << _BITS) - 1}
  %taken = select i1 %is_new, i64 0, i64 %low_bits
  %known = or i1 %is_new, %is_mine
  %left = icmp ult i64 %taken, %count
  %go = and i1 %known, %left
  br i1 %go, label %claim, label %following
claim:
  %more = add i64 %taken, 1
  %changed = or i64 %owned, %more
  %pair = cmpxchg ptr %place, i64 %ticket, i64 %changed acq_rel acquire, align 8
  %won = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %won, label %work, label %next
work:
  %chunk = add i64 %first, %taken
  %begin = mul i64 %chunk, %grain
  %stop = add i64 %begin, %grain
  %over = icmp sgt i64 %stop, %total
  %end = select i1 %over, i64 %total, i64 %stop
  call void %fn(ptr %context, i64 %begin, i64 %end)
  %size = sub i64 %end, %begin
  %was = atomicrmw add ptr @finished, i64 %size acq_rel, align 8
  br label %next
following:
  %visit = add i64 %visited, 1
  %all = icmp uge i64 %visit, %parts
  br i1 %all, label %out, label %part
out:
  ret void
}}

define void @clew_parallel_for(ptr %fn, ptr %context, i64 %total, i64 %wanted) {{
entry:
  ; No more chunks than the bits of the ticket can count.
  %many = mul i64 %wanted, {_MAX_CHUNKS}
  %times = udiv i64 %total, %many
  %factor = add i64 %times, 1
  %grain = mul i64 %wanted, %factor
  ; One chunk is not worth waking a worker.
  %one = icmp sle i64 %total, %grain
  br i1 %one, label %serial, label %several
several:
  %count = load atomic i32, ptr @workers monotonic, align 4
  %has_workers = icmp sgt i32 %count, 0
  br i1 %has_workers, label %lock, label %serial
lock:
  %pair = cmpxchg ptr @busy, i32 0, i32 1 acquire monotonic, align 4
  %free = extractvalue {{ i32, i1 }} %pair, 1
  br i1 %free, label %publish, label %serial
serial:
{_serial_loop("serial")}publish:
  %old = load i64, ptr @published, align 8
  %number = add i64 %old, 1
  store i64 %number, ptr @published, align 8
  store atomic i64 0, ptr @current seq_cst, align 8
  ; Release fence: no store below may be seen before the job is closed.
  fence release
  store atomic ptr %fn, ptr @fn monotonic, align 8
  store atomic ptr %context, ptr @context monotonic, align 8
  store atomic i64 %total, ptr @total monotonic, align 8
  store atomic i64 %grain, ptr @grain monotonic, align 8
  %rest = sub i64 %total, 1
  %last = udiv i64 %rest, %grain
  %helpers = zext i32 %count to i64
  %fewer = icmp ult i64 %last, %helpers
  %useful = select i1 %fewer, i64 %last, i64 %helpers
  %parts = add i64 %useful, 1
  store atomic i64 %parts, ptr @parts monotonic, align 8
  store atomic i64 0, ptr @finished monotonic, align 8
  store atomic i64 %number, ptr @current seq_cst, align 8
  %signal = atomicrmw add ptr @job, i32 1 seq_cst, align 4
  %woken_at_most = trunc i64 %useful to i32
  %asleep = load atomic i32, ptr @sleepers seq_cst, align 4
  %wake = icmp sgt i32 %asleep, 0
  br i1 %wake, label %wake_up, label %help
wake_up:
  call void @clew_wake(ptr @job, i32 %woken_at_most)
  br label %help
help:
  call void @run_chunks(i64 0)
  br label %wait
wait:
  %waited = phi i32 [ 0, %help ], [ %longer, %spin ]
  %done = load atomic i64, ptr @finished acquire, align 8
  %complete = icmp eq i64 %done, %total
  br i1 %complete, label %end, label %spin
spin:
  {pause}
  %longer = add i32 %waited, 1
  %spins_on = icmp slt i32 %longer, {YIELD}
  br i1 %spins_on, label %wait, label %long
long:
  call void @clew_wait(ptr @finished, i64 %total, i1 true)
  br label %end
end:
  store atomic i32 0, ptr @busy release, align 4
  ret void
}}

define ptr @clew_worker(ptr %index) {{
entry:
  %mine = ptrtoint ptr %index to i32
  %start = load atomic i32, ptr @job acquire, align 4
  br label %idle
idle:
  %last = phi i32 [ %start, %entry ], [ %now, %help ], [ %now, %parked ]
  br label %look
look:
  %spins = phi i32 [ 0, %idle ], [ 0, %sleep ], [ 0, %retract ], [ 0, %async ], [ %more, %again ],
    [ %more, %yield ]
  %now = load atomic i32, ptr @job acquire, align 4
  %new = icmp ne i32 %now, %last
  br i1 %new, label %work, label %async
async:
  %ran = call i1 @run_async_job()
  br i1 %ran, label %look, label %again
again:
  {pause}
  %more = add i32 %spins, 1
  %part = and i32 %more, {YIELD - 1}
  %yields = icmp eq i32 %part, 0
  br i1 %yields, label %yield, label %look
yield:
  ; Let other threads have the core.
  %given = call i32 @sched_yield()
  %sleeps = icmp sge i32 %more, {spins}
  br i1 %sleeps, label %announce, label %look
announce:
  %most = load atomic i32, ptr @workers seq_cst, align 4
  %stays = icmp slt i32 %mine, %most
  br i1 %stays, label %register, label %parked
register:
  %was = atomicrmw add ptr @sleepers, i32 1 seq_cst, align 4
  %check = load atomic i32, ptr @job seq_cst, align 4
  %still = icmp eq i32 %check, %last
  br i1 %still, label %sleep, label %retract
retract:
  %b = atomicrmw sub ptr @sleepers, i32 1 seq_cst, align 4
  br label %look
sleep:
  call void @clew_sleep(ptr @job, i32 %last)
  %c = atomicrmw sub ptr @sleepers, i32 1 seq_cst, align 4
  br label %look
work:
  %count = load atomic i32, ptr @workers seq_cst, align 4
  %wanted = icmp slt i32 %mine, %count
  br i1 %wanted, label %help, label %parked
parked:
  %enough = phi i32 [ %count, %work ], [ %most, %announce ]
  call void @clew_sleep(ptr @workers, i32 %enough)
  br label %idle
help:
  %place = add i32 %mine, 1
  %own = zext i32 %place to i64
  call void @run_chunks(i64 %own)
  br label %idle
}}

define i64 @clew_threads() {{
  %count = load atomic i32, ptr @workers monotonic, align 4
  %others = zext i32 %count to i64
  %all = add i64 %others, 1
  ret i64 %all
}}

define internal void @clew_spin_pause(i32 %times) {{
entry:
  {pause}
  %part = and i32 %times, {YIELD - 1}
  %yields = icmp eq i32 %part, 0
  br i1 %yields, label %yield, label %out
out:
  ret void
yield:
  ; The thread that is waited for may need this core.
  %yielded = call i32 @sched_yield()
  ret void
}}

define void @clew_set_workers(i32 %count) {{
  store atomic i32 %count, ptr @workers seq_cst, align 4
  ; All look again whether they may work.
  call void @clew_wake(ptr @workers, i32 {MAX_THREADS})
  call void @clew_wake(ptr @job, i32 {MAX_THREADS})
  ret void
}}

define void @clew_reset_after_fork() {{
  ; A forked child has no workers, and does not run the jobs of its parent.
  store atomic i32 0, ptr @workers seq_cst, align 4
  store atomic i32 0, ptr @busy seq_cst, align 4
  store atomic i64 0, ptr @current seq_cst, align 8
  store atomic i32 0, ptr @sleepers seq_cst, align 4
  store atomic i32 0, ptr @async_lock seq_cst, align 4
  store atomic i64 0, ptr @async_head seq_cst, align 8
  store atomic i64 0, ptr @async_tail seq_cst, align 8
  store atomic i64 0, ptr @clew_pending_jobs seq_cst, align 8
  ret void
}}
"""


class ThreadPool:
    """The workers of this process, seen from Python."""

    def __init__(
        self, worker: int, set_workers: int, reset_after_fork: int, wait: int, pending: int
    ) -> None:
        self._worker = worker
        # Runs the asynchronous jobs that are left, and waits for those that have begun.
        self.wait_for_jobs = ctypes.CFUNCTYPE(None)(wait)
        self.wait_address = wait
        # How many asynchronous jobs are not finished.
        self.pending_jobs = ctypes.c_int64.from_address(pending)
        self._set_workers = ctypes.CFUNCTYPE(None, ctypes.c_int32)(set_workers)
        self._reset_after_fork = ctypes.CFUNCTYPE(None)(reset_after_fork)
        self._started = 0
        if HOST.has_workers:
            os.register_at_fork(after_in_child=self._after_fork)

    def resize(self, threads: int) -> None:
        """Let kernels run on this many threads, the calling one included.

        The compile thread calls it: workers inherit its signal mask, in which all are blocked.
        """
        if not HOST.has_workers:
            return
        workers = min(threads, MAX_THREADS) - 1
        while self._started < workers:
            self._start_worker()
        self._set_workers(workers)

    def _start_worker(self) -> None:
        libc: Any = ctypes.CDLL(None)
        handle = ctypes.c_ulong()
        index = ctypes.c_void_p(self._started)
        worker = ctypes.c_void_p(self._worker)
        attributes = ctypes.create_string_buffer(_ATTRIBUTES_BYTES)
        libc.pthread_attr_init(attributes)
        libc.pthread_attr_setstacksize(attributes, ctypes.c_size_t(_STACK_BYTES))
        failed = libc.pthread_create(ctypes.byref(handle), attributes, worker, index)
        libc.pthread_attr_destroy(attributes)
        if failed:
            raise RuntimeError(f"a worker thread could not be started: {os.strerror(failed)}")
        libc.pthread_detach(handle)
        self._started += 1

    def _after_fork(self) -> None:
        self._started = 0
        self._reset_after_fork()
