"""Asynchronous jobs, in LLVM IR: a worker runs them while the calling thread goes on.

A job is a function, a number, and a copy of its context. `clew_submit_job` puts it into a ring
buffer; workers of the thread pool run it when they have nothing else to do. `clew_wait_for_jobs`
runs the jobs that are left and waits for those that have begun. A spin lock guards both ends of the
ring.
"""

from __future__ import annotations

from clew.kernels.runtime import waiting
from clew.kernels.runtime.cpu import HOST, Platform

# The jobs that the ring holds, and the words of one: function, number, and context.
SLOTS, WORDS = 64, 40

_SERIAL = """
@clew_pending_jobs = global i64 0

define i1 @clew_submit_job(ptr %fn, ptr %context, i64 %words, i64 %number) {
  ret i1 false
}

define void @clew_wait_for_jobs() {
  ret void
}
"""


def source(platform: Platform = HOST) -> str:
    """The LLVM IR of the ring, which is in one module with the thread pool."""
    return _threaded(waiting.pause(platform)) if platform.has_workers else _SERIAL


def _threaded(pause: str) -> str:
    return f"""
@async_lock = global i32 0
@async_head = global i64 0
@async_tail = global i64 0
@clew_pending_jobs = global i64 0
@async_ring = global [{SLOTS} x [{WORDS} x i64]] zeroinitializer

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define internal void @async_acquire() {{
entry:
  br label %try
try:
  %pair = cmpxchg ptr @async_lock, i32 0, i32 1 acquire monotonic, align 4
  %free = extractvalue {{ i32, i1 }} %pair, 1
  br i1 %free, label %in, label %spin
spin:
  {pause}
  br label %try
in:
  ret void
}}

define internal void @async_release() {{
  store atomic i32 0, ptr @async_lock release, align 4
  ret void
}}

define i1 @clew_submit_job(ptr %fn, ptr %context, i64 %words, i64 %number) {{
entry:
  %workers = load atomic i32, ptr @workers monotonic, align 4
  %has_workers = icmp sgt i32 %workers, 0
  br i1 %has_workers, label %lock, label %reject
lock:
  call void @async_acquire()
  %head = load atomic i64, ptr @async_head monotonic, align 8
  %tail = load atomic i64, ptr @async_tail monotonic, align 8
  %waiting = sub i64 %tail, %head
  %full = icmp sge i64 %waiting, {SLOTS}
  br i1 %full, label %unlock, label %put
unlock:
  call void @async_release()
  br label %reject
reject:
  ret i1 false
put:
  %index = urem i64 %tail, {SLOTS}
  %slot = getelementptr [{SLOTS} x [{WORDS} x i64]], ptr @async_ring, i64 0, i64 %index, i64 0
  store ptr %fn, ptr %slot, align 8
  %second = getelementptr i64, ptr %slot, i64 1
  store i64 %number, ptr %second, align 8
  %rest = getelementptr i64, ptr %slot, i64 2
  %bytes = mul i64 %words, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %rest, ptr %context, i64 %bytes, i1 false)
  %left = atomicrmw add ptr @clew_pending_jobs, i64 1 seq_cst, align 8
  %after = add i64 %tail, 1
  store atomic i64 %after, ptr @async_tail release, align 8
  call void @async_release()
  ; A new job number makes workers look for jobs; one that sleeps is woken.
  %old = atomicrmw add ptr @job, i32 1 seq_cst, align 4
  %asleep = load atomic i32, ptr @sleepers seq_cst, align 4
  %wake = icmp sgt i32 %asleep, 0
  br i1 %wake, label %wake_up, label %out
wake_up:
  call void @clew_wake(ptr @job, i32 1)
  br label %out
out:
  ret i1 true
}}

define internal i1 @run_async_job() {{
entry:
  %job = alloca [{WORDS} x i64], align 8
  %head0 = load atomic i64, ptr @async_head monotonic, align 8
  %tail0 = load atomic i64, ptr @async_tail monotonic, align 8
  %none = icmp eq i64 %head0, %tail0
  br i1 %none, label %nothing, label %lock
lock:
  call void @async_acquire()
  %head = load atomic i64, ptr @async_head monotonic, align 8
  %tail = load atomic i64, ptr @async_tail monotonic, align 8
  %empty = icmp eq i64 %head, %tail
  br i1 %empty, label %unlock, label %take
unlock:
  call void @async_release()
  br label %nothing
nothing:
  ret i1 false
take:
  %index = urem i64 %head, {SLOTS}
  %slot = getelementptr [{SLOTS} x [{WORDS} x i64]], ptr @async_ring, i64 0, i64 %index, i64 0
  call void @llvm.memcpy.p0.p0.i64(ptr %job, ptr %slot, i64 {8 * WORDS}, i1 false)
  %after = add i64 %head, 1
  store atomic i64 %after, ptr @async_head monotonic, align 8
  call void @async_release()
  %fn = load ptr, ptr %job, align 8
  %second = getelementptr i64, ptr %job, i64 1
  %number = load i64, ptr %second, align 8
  %context = getelementptr i64, ptr %job, i64 2
  call void %fn(ptr %context, i64 %number)
  %left = atomicrmw sub ptr @clew_pending_jobs, i64 1 acq_rel, align 8
  ret i1 true
}}

define void @clew_wait_for_jobs() {{
entry:
  br label %help
help:
  %ran = call i1 @run_async_job()
  br i1 %ran, label %help, label %wait
wait:
  call void @clew_wait(ptr @clew_pending_jobs, i64 0, i1 true)
  ret void
}}
"""
