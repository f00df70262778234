"""Elementwise kernels over strided operands, through contiguous buffers, in LLVM IR.

A kernel is compiled for contiguous operands. Strided inputs are copied to a buffer that stays in
the first-level cache, some hundred elements at a time, and strided results from one. A scalar input
is broadcast to its buffer only once.

A kernel takes multiples of its step: a remainder is copied to buffers, too, and padded with its
last element.
"""

from __future__ import annotations

from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.lazy_call import call_lazily
from clew.kernels.codegen.strided_table import BLOCKS_INDEX, TABLE
from clew.kernels.runtime.lazy_compilation import RECORD

# Bytes of all buffers together, and the elements that they hold if all have eight bytes.
_BYTES = 32768
_ELEMENTS = _BYTES // 8
# The largest step of a kernel.
_MAX_STEP = 64
# The unroll factor of strided copies.
_UNROLL = 4
MAX_OPERANDS = 32
_COPY_PARAMETERS = "ptr %to, i64 %to_step, ptr %from, i64 %from_step, i64 %n"
_PARAMETERS = "ptr %kernel, ptr %context, ptr %layout, i64 %begin, i64 %end"


def call(e: Emitter, kernel: str, begin: str, end: str) -> None:
    """In a kernel's body: run the kernel on the elements begin to end, through buffers.

    The context begins with the pointers and the steps of the operands. The layout has the number of
    operands and of inputs, the step of the kernel, the capacity of a buffer in elements, and the
    itemsize of each operand: 0 for a scalar input. If such an input is not a scalar after all, the
    kernel runs on one element at a time.
    """
    given = f"ptr @{kernel}, ptr %context, ptr @layout, i64 {begin}, i64 {end}"
    call_lazily(e, TABLE, BLOCKS_INDEX, given)


def layout(inputs: int, step: int, sizes: list[int]) -> list[int]:
    """The words of a kernel's layout."""
    capacity = _ELEMENTS // len(sizes) // _MAX_STEP * _MAX_STEP
    return [len(sizes), inputs, step, capacity, *sizes]


def copy_module(size: int) -> str:
    """A strided copy of elements of one size: unrolled, with a scalar remainder loop."""
    llvm, copies = f"i{8 * size}", range(_UNROLL)
    distances = "".join(
        f"""
  %from{k} = mul i64 %from_step, {k}
  %to{k} = mul i64 %to_step, {k}"""
        for k in (*copies, _UNROLL)
    )
    loads = "".join(
        f"""
  %source{k} = getelementptr i8, ptr %source, i64 %from{k}
  %value{k} = load {llvm}, ptr %source{k}, align {size}"""
        for k in copies
    )
    stores = "".join(
        f"""
  %target{k} = getelementptr i8, ptr %target, i64 %to{k}
  store {llvm} %value{k}, ptr %target{k}, align {size}"""
        for k in copies
    )
    return f"""
define void @copy{size}({_COPY_PARAMETERS}) {{
entry:{distances}
  %multiple = and i64 %n, -{_UNROLL}
  %has_many = icmp ne i64 %multiple, 0
  br i1 %has_many, label %unrolled, label %remainder
unrolled:
  %i = phi i64 [ 0, %entry ], [ %i_next, %unrolled ]
  %source = phi ptr [ %from, %entry ], [ %source_next, %unrolled ]
  %target = phi ptr [ %to, %entry ], [ %target_next, %unrolled ]{loads}{stores}
  %source_next = getelementptr i8, ptr %source, i64 %from{_UNROLL}
  %target_next = getelementptr i8, ptr %target, i64 %to{_UNROLL}
  %i_next = add i64 %i, {_UNROLL}
  %i_more = icmp slt i64 %i_next, %multiple
  br i1 %i_more, label %unrolled, label %remainder
remainder:
  %last = phi ptr [ %from, %entry ], [ %source_next, %unrolled ]
  %end = phi ptr [ %to, %entry ], [ %target_next, %unrolled ]
  %left = icmp slt i64 %multiple, %n
  br i1 %left, label %one, label %out
one:
  %j = phi i64 [ %multiple, %remainder ], [ %j_next, %one ]
  %read = phi ptr [ %last, %remainder ], [ %read_next, %one ]
  %write = phi ptr [ %end, %remainder ], [ %write_next, %one ]
  %value = load {llvm}, ptr %read, align {size}
  store {llvm} %value, ptr %write, align {size}
  %read_next = getelementptr i8, ptr %read, i64 %from_step
  %write_next = getelementptr i8, ptr %write, i64 %to_step
  %j_next = add i64 %j, 1
  %j_more = icmp slt i64 %j_next, %n
  br i1 %j_more, label %one, label %out
out:
  ret void
}}"""


def blocks_module() -> str:
    """The module of `blocks`, which runs a kernel on some hundred elements at a time."""
    outside = f"@{TABLE} = external global ptr\ndeclare ptr @clew_resolve(ptr)"
    return f"{outside}\n{_BLOCK_SIZE}\n{_BLOCKS}"


_BLOCK_SIZE = """
define internal i64 @block_size(ptr %steps, ptr %sizes, i64 %count, i64 %capacity) {
entry:
  br label %operand
operand:
  %k = phi i64 [ 0, %entry ], [ %next, %operand ]
  %most = phi i64 [ %capacity, %entry ], [ %length, %operand ]
  %size_at = getelementptr i64, ptr %sizes, i64 %k
  %size = load i64, ptr %size_at
  %step_at = getelementptr i64, ptr %steps, i64 %k
  %step = load i64, ptr %step_at
  %is_scalar = icmp eq i64 %size, 0
  %is_strided = icmp ne i64 %step, 0
  %is_one_by_one = and i1 %is_scalar, %is_strided
  %length = select i1 %is_one_by_one, i64 1, i64 %most
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %operand, label %out
out:
  ret i64 %length
}"""

_BLOCKS = f"""
define void @blocks({_PARAMETERS}) {{
entry:
  %table = alloca ptr, i64 {MAX_OPERANDS}, align 8
  %buffers = alloca i8, i64 {_BYTES}, align 64
  %count = load i64, ptr %layout
  %inputs_at = getelementptr i64, ptr %layout, i64 1
  %inputs = load i64, ptr %inputs_at
  %kernel_step_at = getelementptr i64, ptr %layout, i64 2
  %kernel_step = load i64, ptr %kernel_step_at
  %step_less_one = sub i64 %kernel_step, 1
  %mask = sub i64 0, %kernel_step
  %elements_at = getelementptr i64, ptr %layout, i64 3
  %elements = load i64, ptr %elements_at
  %capacity = mul i64 %elements, 8
  %sizes = getelementptr i64, ptr %layout, i64 4
  %steps = getelementptr i64, ptr %context, i64 %count
  %block_size = call i64 @block_size(ptr %steps, ptr %sizes, i64 %count, i64 %elements)
  %any = icmp slt i64 %begin, %end
  br i1 %any, label %block, label %out
block:
  %i = phi i64 [ %begin, %entry ], [ %stop, %next_block ]
  %left = sub i64 %end, %i
  %is_last = icmp slt i64 %left, %block_size
  %n = select i1 %is_last, i64 %left, i64 %block_size
  %stop = add i64 %i, %n
  %rounded = add i64 %n, %step_less_one
  %padded = and i64 %rounded, %mask
  %padding = sub i64 %padded, %n
  %is_multiple = icmp eq i64 %padding, 0
  %is_first = icmp eq i64 %i, %begin
  br label %load
load:
  %k = phi i64 [ 0, %block ], [ %k_next, %loaded ]
  %base_at = getelementptr ptr, ptr %context, i64 %k
  %base = load ptr, ptr %base_at
  %step_at = getelementptr i64, ptr %steps, i64 %k
  %step = load i64, ptr %step_at
  %size_at = getelementptr i64, ptr %sizes, i64 %k
  %size = load i64, ptr %size_at
  %offset = mul i64 %i, %step
  %address = getelementptr i8, ptr %base, i64 %offset
  %start = mul i64 %k, %capacity
  %buffer = getelementptr i8, ptr %buffers, i64 %start
  %is_contiguous = icmp eq i64 %step, %size
  %in_place = and i1 %is_contiguous, %is_multiple
  %is_scalar = icmp eq i64 %size, 0
  %no_copy = or i1 %in_place, %is_scalar
  %operand = select i1 %no_copy, ptr %address, ptr %buffer
  %entry_at = getelementptr ptr, ptr %table, i64 %k
  store ptr %operand, ptr %entry_at
  %needs_copy = xor i1 %no_copy, true
  %is_input = icmp slt i64 %k, %inputs
  %is_strided = icmp ne i64 %step, 0
  %is_new = or i1 %is_strided, %is_first
  %is_read = and i1 %is_input, %is_new
  %gathers = and i1 %needs_copy, %is_read
  br i1 %gathers, label %gather, label %loaded
gather:
  %copy_at = getelementptr {RECORD}, ptr @{TABLE}, i64 %size
  %copy = call ptr @clew_resolve(ptr %copy_at)
  call void %copy(ptr %buffer, i64 %size, ptr %address, i64 %step, i64 %n)
  br i1 %is_multiple, label %loaded, label %pad
pad:
  %filled = mul i64 %n, %size
  %filled_end = getelementptr i8, ptr %buffer, i64 %filled
  %back = sub i64 0, %size
  %last = getelementptr i8, ptr %filled_end, i64 %back
  call void %copy(ptr %filled_end, i64 %size, ptr %last, i64 0, i64 %padding)
  br label %loaded
loaded:
  %k_next = add i64 %k, 1
  %k_more = icmp slt i64 %k_next, %count
  br i1 %k_more, label %load, label %run
run:
  call void %kernel(ptr %table, i64 0, i64 %padded)
  br label %store
store:
  %o = phi i64 [ %inputs, %run ], [ %o_next, %stored ]
  %o_base_at = getelementptr ptr, ptr %context, i64 %o
  %o_base = load ptr, ptr %o_base_at
  %o_step_at = getelementptr i64, ptr %steps, i64 %o
  %o_step = load i64, ptr %o_step_at
  %o_size_at = getelementptr i64, ptr %sizes, i64 %o
  %o_size = load i64, ptr %o_size_at
  %o_is_contiguous = icmp eq i64 %o_step, %o_size
  %o_in_place = and i1 %o_is_contiguous, %is_multiple
  br i1 %o_in_place, label %stored, label %scatter
scatter:
  %o_offset = mul i64 %i, %o_step
  %o_address = getelementptr i8, ptr %o_base, i64 %o_offset
  %o_start = mul i64 %o, %capacity
  %o_buffer = getelementptr i8, ptr %buffers, i64 %o_start
  %o_copy_at = getelementptr {RECORD}, ptr @{TABLE}, i64 %o_size
  %o_copy = call ptr @clew_resolve(ptr %o_copy_at)
  call void %o_copy(ptr %o_address, i64 %o_step, ptr %o_buffer, i64 %o_size, i64 %n)
  br label %stored
stored:
  %o_next = add i64 %o, 1
  %o_more = icmp slt i64 %o_next, %count
  br i1 %o_more, label %store, label %next_block
next_block:
  %more = icmp slt i64 %stop, %end
  br i1 %more, label %block, label %out
out:
  ret void
}}"""
