"""A caching allocator of large blocks: a free list from which arrays of about the same size are
allocated.

The C library maps blocks from 32 MiB on anew each time, and no setting changes that: every page is
faulted in and cleared again, which takes longer than to fill it. So some freed blocks are cached.
The oldest is evicted when the free list is full, or when a new one needs its bytes.
"""

from __future__ import annotations

from clew.backend.allocation import MMAP_THRESHOLD

# The smallest block that is cached; smaller ones the C library caches itself.
MIN_BLOCK = MMAP_THRESHOLD
# The bytes of all cached blocks together, and the slots of the free list (a power of two).
MAX_CACHED_BYTES, SLOTS = 256 << 20, 16


def source() -> str:
    """`clew_allocate_cached(bytes)` gives a cached block of about that size, or null;
    `clew_cache_block(block, bytes)` takes a freed one; `clew_empty_cache()` frees all.

    A thread that finds the free list locked does without it.
    """
    return f"""
@free_list = internal global [{SLOTS} x [2 x i64]] zeroinitializer
@cached_bytes = internal global i64 0
@next_slot = internal global i64 0
@free_list_lock = internal global i32 0

declare void @free(ptr)

define internal i1 @free_list_try_lock() {{
  %pair = cmpxchg ptr @free_list_lock, i32 0, i32 1 acquire monotonic
  %got_lock = extractvalue {{ i32, i1 }} %pair, 1
  ret i1 %got_lock
}}

define internal void @free_list_unlock() {{
  store atomic i32 0, ptr @free_list_lock release, align 4
  ret void
}}

define internal void @remove_block(i64 %i, i64 %size) {{
  %size_address = getelementptr [2 x i64], ptr @free_list, i64 %i, i64 1
  store i64 0, ptr %size_address
  %bytes = load i64, ptr @cached_bytes
  %left = sub i64 %bytes, %size
  store i64 %left, ptr @cached_bytes
  ret void
}}

define internal void @evict_block(i64 %i) {{
entry:
  %size_address = getelementptr [2 x i64], ptr @free_list, i64 %i, i64 1
  %size = load i64, ptr %size_address
  %empty = icmp eq i64 %size, 0
  br i1 %empty, label %out, label %full
full:
  %address = getelementptr [2 x i64], ptr @free_list, i64 %i
  %block = load ptr, ptr %address
  call void @free(ptr %block)
  call void @remove_block(i64 %i, i64 %size)
  br label %out
out:
  ret void
}}

define internal ptr @clew_allocate_cached(i64 %bytes) {{
entry:
  ; A block may be a quarter larger than what is asked for.
  %quarter = lshr i64 %bytes, 2
  %most = add i64 %bytes, %quarter
  %got_lock = call i1 @free_list_try_lock()
  br i1 %got_lock, label %slot, label %contended
slot:
  %i = phi i64 [ 0, %entry ], [ %next, %other ]
  %size_address = getelementptr [2 x i64], ptr @free_list, i64 %i, i64 1
  %size = load i64, ptr %size_address
  %enough = icmp uge i64 %size, %bytes
  %not_too_large = icmp ule i64 %size, %most
  %fits = and i1 %enough, %not_too_large
  br i1 %fits, label %found, label %other
other:
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, {SLOTS}
  br i1 %more, label %slot, label %none
found:
  %address = getelementptr [2 x i64], ptr @free_list, i64 %i
  %block = load ptr, ptr %address
  call void @remove_block(i64 %i, i64 %size)
  br label %none
none:
  %result = phi ptr [ null, %other ], [ %block, %found ]
  call void @free_list_unlock()
  ret ptr %result
contended:
  ret ptr null
}}

define internal void @clew_cache_block(ptr %block, i64 %bytes) {{
entry:
  %huge = icmp ugt i64 %bytes, {MAX_CACHED_BYTES}
  br i1 %huge, label %release, label %lock
lock:
  %got_lock = call i1 @free_list_try_lock()
  br i1 %got_lock, label %slot, label %release
slot:
  ; The next slot of the ring has the oldest block.
  %i = load i64, ptr @next_slot
  %next = add i64 %i, 1
  %wrapped = and i64 %next, {SLOTS - 1}
  store i64 %wrapped, ptr @next_slot
  call void @evict_block(i64 %i)
  %have = load i64, ptr @cached_bytes
  %total = add i64 %have, %bytes
  %room = icmp ule i64 %total, {MAX_CACHED_BYTES}
  br i1 %room, label %put, label %slot
put:
  store i64 %total, ptr @cached_bytes
  %address = getelementptr [2 x i64], ptr @free_list, i64 %i
  store ptr %block, ptr %address
  %size_address = getelementptr i64, ptr %address, i64 1
  store i64 %bytes, ptr %size_address
  call void @free_list_unlock()
  ret void
release:
  call void @free(ptr %block)
  ret void
}}

define void @clew_empty_cache() {{
entry:
  %got_lock = call i1 @free_list_try_lock()
  br i1 %got_lock, label %slot, label %out
slot:
  %i = phi i64 [ 0, %entry ], [ %next, %slot ]
  call void @evict_block(i64 %i)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, {SLOTS}
  br i1 %more, label %slot, label %unlock
unlock:
  call void @free_list_unlock()
  br label %out
out:
  ret void
}}
"""
