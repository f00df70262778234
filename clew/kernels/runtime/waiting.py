"""How a thread waits, in LLVM IR: it pauses its core, or sleeps until a word of memory changes.

`clew_sleep(word, value)` returns when `clew_wake` is called for the word, at once if it does not
have the value any more, or for no reason: the caller looks again. `clew_wake(word, count)` wakes at
least so many of those that sleep. Linux has futexes for this, macOS the calls under its locks.
"""

from __future__ import annotations

from clew.kernels.runtime.cpu import Platform

_PAUSE = {
    "x86_64": "call void @llvm.x86.sse2.pause()",
    # `yield` is over at once on most processors; this takes as long as a pause should.
    "aarch64": "call void @llvm.aarch64.isb(i32 15)",
}
# Pauses for about a millisecond: in small networks there is Python between the kernels, and waking
# takes longer than many of them.
_SPINS = {"x86_64": 20 * 1024, "aarch64": 64 * 1024}

# The number of the system call, and its operations: futexes of one process.
_FUTEX = {"x86_64": 202, "aarch64": 98}
_FUTEX_WAIT, _FUTEX_WAKE = 128, 129

# <sys/ulock.h> of Apple's libpthread: compare 32 bits and wait, return errors instead of setting
# errno, and wake all.
_ULOCK, _ULOCK_WAKE_ALL = 0x01000001, 0x100


def pause(platform: Platform) -> str:
    """An instruction for the body of a loop that looks at memory."""
    return _PAUSE[platform.processor]


def spins(platform: Platform) -> int:
    """How many pauses a thread makes before it sleeps."""
    return _SPINS[platform.processor]


def source(platform: Platform) -> str:
    """The LLVM IR of sleeping and waking."""
    intrinsic = _PAUSE[platform.processor].removeprefix("call ").replace("i32 15", "i32")
    functions = _ulock() if platform.system == "darwin" else _futex(_FUTEX[platform.processor])
    return f"declare {intrinsic}\n{functions}"


def _futex(number: int) -> str:
    return f"""
declare i64 @syscall(i64, ...)

define internal void @clew_sleep(ptr %word, i32 %value) {{
  %slept = call i64 (i64, ...) @syscall(i64 {number}, ptr %word, i32 {_FUTEX_WAIT}, i32 %value,
    ptr null)
  ret void
}}

define internal void @clew_wake(ptr %word, i32 %count) {{
  %woken = call i64 (i64, ...) @syscall(i64 {number}, ptr %word, i32 {_FUTEX_WAKE}, i32 %count)
  ret void
}}
"""


def _ulock() -> str:
    return f"""
declare i32 @__ulock_wait(i32, ptr, i64, i32)
declare i32 @__ulock_wake(i32, ptr, i64)

define internal void @clew_sleep(ptr %word, i32 %value) {{
  %wide = zext i32 %value to i64
  %slept = call i32 @__ulock_wait(i32 {_ULOCK}, ptr %word, i64 %wide, i32 0)
  ret void
}}

define internal void @clew_wake(ptr %word, i32 %count) {{
  %one = icmp eq i32 %count, 1
  %how = select i1 %one, i32 {_ULOCK}, i32 {_ULOCK | _ULOCK_WAKE_ALL}
  %woken = call i32 @__ulock_wake(i32 %how, ptr %word, i64 0)
  ret void
}}
"""
