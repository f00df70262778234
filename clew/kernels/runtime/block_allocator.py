"""A caching allocator of large blocks: freed ones are kept for arrays of about their size.

The C library maps blocks from 32 MiB on anew each time, and no setting changes that: every page is
faulted in and cleared again, which takes longer than to fill it. So some are kept. A block that
nobody asks for goes when so many others have come after it, or when they need its room.
"""

from __future__ import annotations

from clew.backend.allocation import LARGEST_KEPT

# The smallest block that is kept; smaller ones the C library keeps itself.
LEAST = LARGEST_KEPT
# The bytes of all blocks that are kept, and how many there may be (a power of two).
MOST, COUNT = 256 << 20, 16


def source() -> str:
    """`clew_kept(bytes)` gives a block of about that size, or null; `clew_keep(block, bytes)` takes
    one; `clew_let_go()` frees all.

    Who finds another thread at the table does without it.
    """
    return f"""
@kept = internal global [{COUNT} x [2 x i64]] zeroinitializer
@kept_bytes = internal global i64 0
@kept_next = internal global i64 0
@kept_in_use = internal global i32 0

declare void @free(ptr)

define internal i1 @kept_enter() {{
  %pair = cmpxchg ptr @kept_in_use, i32 0, i32 1 acquire monotonic
  %mine = extractvalue {{ i32, i1 }} %pair, 1
  ret i1 %mine
}}

define internal void @kept_leave() {{
  store atomic i32 0, ptr @kept_in_use release, align 4
  ret void
}}

define internal void @kept_forget(i64 %i, i64 %size) {{
  %size_at = getelementptr [2 x i64], ptr @kept, i64 %i, i64 1
  store i64 0, ptr %size_at
  %bytes = load i64, ptr @kept_bytes
  %left = sub i64 %bytes, %size
  store i64 %left, ptr @kept_bytes
  ret void
}}

define internal void @kept_free(i64 %i) {{
entry:
  %size_at = getelementptr [2 x i64], ptr @kept, i64 %i, i64 1
  %size = load i64, ptr %size_at
  %empty = icmp eq i64 %size, 0
  br i1 %empty, label %out, label %full
full:
  %at = getelementptr [2 x i64], ptr @kept, i64 %i
  %block = load ptr, ptr %at
  call void @free(ptr %block)
  call void @kept_forget(i64 %i, i64 %size)
  br label %out
out:
  ret void
}}

define internal ptr @clew_kept(i64 %bytes) {{
entry:
  ; A quarter more than was asked for is not too much to hold.
  %quarter = lshr i64 %bytes, 2
  %most = add i64 %bytes, %quarter
  %mine = call i1 @kept_enter()
  br i1 %mine, label %row, label %without
row:
  %i = phi i64 [ 0, %entry ], [ %next, %other ]
  %size_at = getelementptr [2 x i64], ptr @kept, i64 %i, i64 1
  %size = load i64, ptr %size_at
  %enough = icmp uge i64 %size, %bytes
  %little = icmp ule i64 %size, %most
  %fits = and i1 %enough, %little
  br i1 %fits, label %found, label %other
other:
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, {COUNT}
  br i1 %more, label %row, label %none
found:
  %at = getelementptr [2 x i64], ptr @kept, i64 %i
  %block = load ptr, ptr %at
  call void @kept_forget(i64 %i, i64 %size)
  br label %none
none:
  %result = phi ptr [ null, %other ], [ %block, %found ]
  call void @kept_leave()
  ret ptr %result
without:
  ret ptr null
}}

define internal void @clew_keep(ptr %block, i64 %bytes) {{
entry:
  %huge = icmp ugt i64 %bytes, {MOST}
  br i1 %huge, label %give, label %ask
ask:
  %mine = call i1 @kept_enter()
  br i1 %mine, label %row, label %give
row:
  ; The next row of the table has what was kept longest.
  %i = load i64, ptr @kept_next
  %next = add i64 %i, 1
  %wrapped = and i64 %next, {COUNT - 1}
  store i64 %wrapped, ptr @kept_next
  call void @kept_free(i64 %i)
  %have = load i64, ptr @kept_bytes
  %total = add i64 %have, %bytes
  %room = icmp ule i64 %total, {MOST}
  br i1 %room, label %put, label %row
put:
  store i64 %total, ptr @kept_bytes
  %at = getelementptr [2 x i64], ptr @kept, i64 %i
  store ptr %block, ptr %at
  %size_at = getelementptr i64, ptr %at, i64 1
  store i64 %bytes, ptr %size_at
  call void @kept_leave()
  ret void
give:
  call void @free(ptr %block)
  ret void
}}

define void @clew_let_go() {{
entry:
  %mine = call i1 @kept_enter()
  br i1 %mine, label %row, label %out
row:
  %i = phi i64 [ 0, %entry ], [ %next, %row ]
  call void @kept_free(i64 %i)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, {COUNT}
  br i1 %more, label %row, label %leave
leave:
  call void @kept_leave()
  br label %out
out:
  ret void
}}
"""
