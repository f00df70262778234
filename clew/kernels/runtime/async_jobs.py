"""Asynchronous jobs, in LLVM IR: a worker does them while the calling thread goes on.

A late job is a function and a copy of what it is told. Workers take one when the team has nothing
else for them; whoever needs the results calls `clew_finish`, does what is left, and waits for what
others have begun. The jobs stand in a ring, numbered; a lock is held while one is put there or is
taken.
"""

from __future__ import annotations

from clew.kernels.runtime import thread_pool
from clew.kernels.runtime.thread_pool import FUTEX, WAKE

# Jobs that may wait, and the words that one may be told.
SLOTS, WORDS = 64, 40

_ALONE = """
@clew_late_left = global i64 0

define i1 @clew_later(ptr %fn, ptr %context, i64 %words, i64 %number) {
  ret i1 false
}

define void @clew_finish() {
  ret void
}
"""


def source() -> str:
    """LLVM IR that belongs to the team's module."""
    return _with_workers() if thread_pool.HAS_WORKERS else _ALONE


def _with_workers() -> str:
    return f"""
@late_lock = global i32 0
@late_first = global i64 0
@late_next = global i64 0
@clew_late_left = global i64 0
@late = global [{SLOTS} x [{WORDS} x i64]] zeroinitializer

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define internal void @late_enter() {{
entry:
  br label %try
try:
  %pair = cmpxchg ptr @late_lock, i32 0, i32 1 acquire monotonic, align 4
  %free = extractvalue {{ i32, i1 }} %pair, 1
  br i1 %free, label %in, label %spin
spin:
  call void @llvm.x86.sse2.pause()
  br label %try
in:
  ret void
}}

define internal void @late_leave() {{
  store atomic i32 0, ptr @late_lock release, align 4
  ret void
}}

define i1 @clew_later(ptr %fn, ptr %context, i64 %words, i64 %number) {{
entry:
  %workers = load atomic i32, ptr @workers monotonic, align 4
  %helped = icmp sgt i32 %workers, 0
  br i1 %helped, label %look, label %refuse
look:
  call void @late_enter()
  %first = load atomic i64, ptr @late_first monotonic, align 8
  %next = load atomic i64, ptr @late_next monotonic, align 8
  %waiting = sub i64 %next, %first
  %full = icmp sge i64 %waiting, {SLOTS}
  br i1 %full, label %leave, label %put
leave:
  call void @late_leave()
  br label %refuse
refuse:
  ret i1 false
put:
  %place = urem i64 %next, {SLOTS}
  %slot = getelementptr [{SLOTS} x [{WORDS} x i64]], ptr @late, i64 0, i64 %place, i64 0
  store ptr %fn, ptr %slot, align 8
  %second = getelementptr i64, ptr %slot, i64 1
  store i64 %number, ptr %second, align 8
  %rest = getelementptr i64, ptr %slot, i64 2
  %bytes = mul i64 %words, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %rest, ptr %context, i64 %bytes, i1 false)
  %left = atomicrmw add ptr @clew_late_left, i64 1 seq_cst, align 8
  %after = add i64 %next, 1
  store atomic i64 %after, ptr @late_next release, align 8
  call void @late_leave()
  ; A new number makes workers look; those who sleep are woken.
  %job = atomicrmw add ptr @job, i32 1 seq_cst, align 4
  %asleep = load atomic i32, ptr @sleepers seq_cst, align 4
  %wake = icmp sgt i32 %asleep, 0
  br i1 %wake, label %rouse, label %out
rouse:
  %woken = call i64 (i64, ...) @syscall(i64 {FUTEX}, ptr @job, i32 {WAKE}, i32 1)
  br label %out
out:
  ret i1 true
}}

define internal i1 @late_draw() {{
entry:
  %mine = alloca [{WORDS} x i64], align 8
  %f0 = load atomic i64, ptr @late_first monotonic, align 8
  %n0 = load atomic i64, ptr @late_next monotonic, align 8
  %none = icmp eq i64 %f0, %n0
  br i1 %none, label %nothing, label %look
look:
  call void @late_enter()
  %first = load atomic i64, ptr @late_first monotonic, align 8
  %next = load atomic i64, ptr @late_next monotonic, align 8
  %gone = icmp eq i64 %first, %next
  br i1 %gone, label %leave, label %take
leave:
  call void @late_leave()
  br label %nothing
nothing:
  ret i1 false
take:
  %place = urem i64 %first, {SLOTS}
  %slot = getelementptr [{SLOTS} x [{WORDS} x i64]], ptr @late, i64 0, i64 %place, i64 0
  call void @llvm.memcpy.p0.p0.i64(ptr %mine, ptr %slot, i64 {8 * WORDS}, i1 false)
  %after = add i64 %first, 1
  store atomic i64 %after, ptr @late_first monotonic, align 8
  call void @late_leave()
  %fn = load ptr, ptr %mine, align 8
  %second = getelementptr i64, ptr %mine, i64 1
  %number = load i64, ptr %second, align 8
  %context = getelementptr i64, ptr %mine, i64 2
  call void %fn(ptr %context, i64 %number)
  %left = atomicrmw sub ptr @clew_late_left, i64 1 acq_rel, align 8
  ret i1 true
}}

define void @clew_finish() {{
entry:
  br label %help
help:
  %drew = call i1 @late_draw()
  br i1 %drew, label %help, label %wait
wait:
  call void @clew_wait(ptr @clew_late_left, i64 0, i1 true)
  ret void
}}
"""
