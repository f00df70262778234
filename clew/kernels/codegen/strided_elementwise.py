"""Elementwise kernels over strided operands, which are copied to buffers, in LLVM IR.

A kernel is compiled for operands whose elements follow each other in memory. Elements that lie
apart are copied to a buffer that stays in the nearest cache, some hundred at a time, and results
are copied from one. An input that is a single number is written into its buffer only once.

Kernels take whole vectors: what is not enough for them is copied, too, and the last element again
and again after it.
"""

from __future__ import annotations

from functools import partial

from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.lazy_call import call_lazily
from clew.kernels.runtime.lazy_compilation import RECORD, LazyFunction

# Bytes of all buffers together, and the elements that they hold if all have eight bytes.
_BYTES = 32768
_ELEMENTS = _BYTES // 8
# Elements that a kernel takes at a time, at most.
_MOST_TOGETHER = 64
# Elements that are copied in one turn of a loop.
_IN_A_TURN = 4
MOST_OPERANDS = 32
# The table of what is here, by its name in compiled code: how elements of some size are copied, at
# that place, and then `blocks`. (strided_rows.py adds its own, and hands the table to the machine.)
TABLE = "clew_apart"
_SIZES = (1, 2, 4, 8)
_COPY_PARAMETERS = "ptr %to, i64 %to_step, ptr %from, i64 %from_step, i64 %n"
_PARAMETERS = "ptr %kernel, ptr %context, ptr %layout, i64 %begin, i64 %end"
_PLACE = _SIZES[-1] + 1


def functions() -> list[LazyFunction | None]:
    """What is compiled when it is first used."""
    found: list[LazyFunction | None] = [None] * _PLACE
    for size in _SIZES:
        found[size] = LazyFunction(f"copy{size}", partial(_copies, size))
    return [*found, LazyFunction("blocks", _module)]


def call(e: Emitter, kernel: str, begin: str, end: str) -> None:
    """In a kernel's body: the kernel on these elements.

    The context begins with the pointers and the steps of the operands; the layout has their number,
    that of the inputs, how many elements the kernel takes at a time, how many there is room for,
    and the size of an element of each. It is 0 for an input of which the kernel
    reads one element only; if that one changes along the others, they are taken one by one.
    """
    given = f"ptr @{kernel}, ptr %context, ptr @layout, i64 {begin}, i64 {end}"
    call_lazily(e, TABLE, _PLACE, given)


def layout(inputs: int, together: int, sizes: list[int]) -> list[int]:
    """The words of a kernel's layout."""
    room = _ELEMENTS // len(sizes) // _MOST_TOGETHER * _MOST_TOGETHER
    return [len(sizes), inputs, together, room, *sizes]


def _copies(size: int) -> str:
    """Elements of one size from steps to steps: some in a turn, and what is left one by one."""
    llvm, turns = f"i{8 * size}", range(_IN_A_TURN)
    distances = "".join(
        f"""
  %from{k} = mul i64 %from_step, {k}
  %to{k} = mul i64 %to_step, {k}"""
        for k in (*turns, _IN_A_TURN)
    )
    loads = "".join(
        f"""
  %source{k} = getelementptr i8, ptr %source, i64 %from{k}
  %value{k} = load {llvm}, ptr %source{k}, align {size}"""
        for k in turns
    )
    stores = "".join(
        f"""
  %goal{k} = getelementptr i8, ptr %goal, i64 %to{k}
  store {llvm} %value{k}, ptr %goal{k}, align {size}"""
        for k in turns
    )
    return f"""
define void @copy{size}({_COPY_PARAMETERS}) {{
entry:{distances}
  %whole = and i64 %n, -{_IN_A_TURN}
  %many = icmp ne i64 %whole, 0
  br i1 %many, label %some, label %rest
some:
  %i = phi i64 [ 0, %entry ], [ %i_next, %some ]
  %source = phi ptr [ %from, %entry ], [ %source_next, %some ]
  %goal = phi ptr [ %to, %entry ], [ %goal_next, %some ]{loads}{stores}
  %source_next = getelementptr i8, ptr %source, i64 %from{_IN_A_TURN}
  %goal_next = getelementptr i8, ptr %goal, i64 %to{_IN_A_TURN}
  %i_next = add i64 %i, {_IN_A_TURN}
  %i_more = icmp slt i64 %i_next, %whole
  br i1 %i_more, label %some, label %rest
rest:
  %last = phi ptr [ %from, %entry ], [ %source_next, %some ]
  %end = phi ptr [ %to, %entry ], [ %goal_next, %some ]
  %left = icmp slt i64 %whole, %n
  br i1 %left, label %one, label %out
one:
  %j = phi i64 [ %whole, %rest ], [ %j_next, %one ]
  %here = phi ptr [ %last, %rest ], [ %here_next, %one ]
  %there = phi ptr [ %end, %rest ], [ %there_next, %one ]
  %value = load {llvm}, ptr %here, align {size}
  store {llvm} %value, ptr %there, align {size}
  %here_next = getelementptr i8, ptr %here, i64 %from_step
  %there_next = getelementptr i8, ptr %there, i64 %to_step
  %j_next = add i64 %j, 1
  %j_more = icmp slt i64 %j_next, %n
  br i1 %j_more, label %one, label %out
out:
  ret void
}}"""


def _module() -> str:
    outside = f"@{TABLE} = external global ptr\ndeclare ptr @clew_resolve(ptr)"
    return f"{outside}\n{_LONGEST}\n{_BLOCKS}"


_LONGEST = """
define internal i64 @longest(ptr %steps, ptr %sizes, i64 %count, i64 %room) {
entry:
  br label %operand
operand:
  %k = phi i64 [ 0, %entry ], [ %next, %operand ]
  %most = phi i64 [ %room, %entry ], [ %length, %operand ]
  %size_at = getelementptr i64, ptr %sizes, i64 %k
  %size = load i64, ptr %size_at
  %step_at = getelementptr i64, ptr %steps, i64 %k
  %step = load i64, ptr %step_at
  %single = icmp eq i64 %size, 0
  %moves = icmp ne i64 %step, 0
  %changes = and i1 %single, %moves
  %length = select i1 %changes, i64 1, i64 %most
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %operand, label %out
out:
  ret i64 %length
}"""

_BLOCKS = f"""
define void @blocks({_PARAMETERS}) {{
entry:
  %table = alloca ptr, i64 {MOST_OPERANDS}, align 8
  %buffers = alloca i8, i64 {_BYTES}, align 64
  %count = load i64, ptr %layout
  %inputs_at = getelementptr i64, ptr %layout, i64 1
  %inputs = load i64, ptr %inputs_at
  %together_at = getelementptr i64, ptr %layout, i64 2
  %together = load i64, ptr %together_at
  %almost = sub i64 %together, 1
  %mask = sub i64 0, %together
  %elements_at = getelementptr i64, ptr %layout, i64 3
  %elements = load i64, ptr %elements_at
  %room = mul i64 %elements, 8
  %sizes = getelementptr i64, ptr %layout, i64 4
  %steps = getelementptr i64, ptr %context, i64 %count
  %longest = call i64 @longest(ptr %steps, ptr %sizes, i64 %count, i64 %elements)
  %any = icmp slt i64 %begin, %end
  br i1 %any, label %block, label %out
block:
  %i = phi i64 [ %begin, %entry ], [ %stop, %next_block ]
  %left = sub i64 %end, %i
  %short = icmp slt i64 %left, %longest
  %n = select i1 %short, i64 %left, i64 %longest
  %stop = add i64 %i, %n
  %above = add i64 %n, %almost
  %padded = and i64 %above, %mask
  %lacking = sub i64 %padded, %n
  %is_whole = icmp eq i64 %lacking, 0
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
  %place = getelementptr i8, ptr %base, i64 %offset
  %start = mul i64 %k, %room
  %buffer = getelementptr i8, ptr %buffers, i64 %start
  %follows = icmp eq i64 %step, %size
  %dense = and i1 %follows, %is_whole
  %single = icmp eq i64 %size, 0
  %direct = or i1 %dense, %single
  %used = select i1 %direct, ptr %place, ptr %buffer
  %entry_at = getelementptr ptr, ptr %table, i64 %k
  store ptr %used, ptr %entry_at
  %apart = xor i1 %direct, true
  %is_input = icmp slt i64 %k, %inputs
  %moves = icmp ne i64 %step, 0
  %fresh = or i1 %moves, %is_first
  %wanted = and i1 %is_input, %fresh
  %copied = and i1 %apart, %wanted
  br i1 %copied, label %gather, label %loaded
gather:
  %copy_at = getelementptr {RECORD}, ptr @{TABLE}, i64 %size
  %copy = call ptr @clew_resolve(ptr %copy_at)
  call void %copy(ptr %buffer, i64 %size, ptr %place, i64 %step, i64 %n)
  br i1 %is_whole, label %loaded, label %fill
fill:
  %taken = mul i64 %n, %size
  %beyond = getelementptr i8, ptr %buffer, i64 %taken
  %back = sub i64 0, %size
  %last = getelementptr i8, ptr %beyond, i64 %back
  call void %copy(ptr %beyond, i64 %size, ptr %last, i64 0, i64 %lacking)
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
  %o_follows = icmp eq i64 %o_step, %o_size
  %o_dense = and i1 %o_follows, %is_whole
  br i1 %o_dense, label %stored, label %scatter
scatter:
  %o_offset = mul i64 %i, %o_step
  %o_place = getelementptr i8, ptr %o_base, i64 %o_offset
  %o_start = mul i64 %o, %room
  %o_buffer = getelementptr i8, ptr %buffers, i64 %o_start
  %o_copy_at = getelementptr {RECORD}, ptr @{TABLE}, i64 %o_size
  %o_copy = call ptr @clew_resolve(ptr %o_copy_at)
  call void %o_copy(ptr %o_place, i64 %o_step, ptr %o_buffer, i64 %o_size, i64 %n)
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
