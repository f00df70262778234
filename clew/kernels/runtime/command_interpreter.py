"""The interpreter of command lists, in LLVM IR: many calls of kernels in one call from Python.

A command is a function with the signature of a ufunc's loop, and what it is called with: pointers
to data, sizes, strides. Sizes and strides are constants of the list (command_list.py). The pointers
are made anew in each run, in a frame on the stack, from the arrays that it is given: so a list may
be run by several threads at once.
"""

from __future__ import annotations

from clew.kernels.runtime.numpy_capi import DATA_OFFSET

FOR_PYTHON = ("clew_run_commands", "clew_call_context", "clew_same_words")
# The words of a command: function, first pointer in the frame, sizes, strides, data, outer loops.
_WORDS = 6
# The most pointers of a list: the frame is on the stack.
MOST_POINTERS = 4096
# The most pointers of a command that has outer loops.
MOST_ARGUMENTS = 32
# Where a tuple has its items.
_ITEMS = tuple.__basicsize__


def source() -> str:
    """The LLVM IR of the interpreter."""
    return f"""
define void @clew_run_commands(ptr %operands, ptr %list) {{
entry:
  %count = load i64, ptr %list
  %pointers_at = getelementptr i64, ptr %list, i64 1
  %pointers = load ptr, ptr %pointers_at
  %commands_at = getelementptr i64, ptr %list, i64 2
  %commands = load ptr, ptr %commands_at
  %end_at = getelementptr i64, ptr %list, i64 3
  %end = load i64, ptr %end_at
  %frame = alloca i64, i64 %count, align 8
  br label %fill
fill:
  %p = phi i64 [ 0, %entry ], [ %next_p, %fill ]
  %pair = shl i64 %p, 1
  %operand_at = getelementptr i64, ptr %pointers, i64 %pair
  %operand = load i64, ptr %operand_at
  %offset_at = getelementptr i64, ptr %operand_at, i64 1
  %offset = load i64, ptr %offset_at
  %scaled = shl i64 %operand, 3
  %place = add i64 %scaled, {_ITEMS}
  %item_at = getelementptr i8, ptr %operands, i64 %place
  %item = load ptr, ptr %item_at
  %data_at = getelementptr i8, ptr %item, i64 {DATA_OFFSET}
  %data = load ptr, ptr %data_at
  %address = getelementptr i8, ptr %data, i64 %offset
  %into = getelementptr i64, ptr %frame, i64 %p
  store ptr %address, ptr %into
  %next_p = add i64 %p, 1
  %more_p = icmp slt i64 %next_p, %count
  br i1 %more_p, label %fill, label %command
command:
  %c = phi i64 [ 0, %fill ], [ %next_c, %done ]
  %word = mul i64 %c, {_WORDS}
  %function_at = getelementptr i64, ptr %commands, i64 %word
  %function = load ptr, ptr %function_at
  %first_at = getelementptr i64, ptr %function_at, i64 1
  %first = load i64, ptr %first_at
  %sizes_at = getelementptr i64, ptr %function_at, i64 2
  %sizes = load ptr, ptr %sizes_at
  %strides_at = getelementptr i64, ptr %function_at, i64 3
  %strides = load ptr, ptr %strides_at
  %given_at = getelementptr i64, ptr %function_at, i64 4
  %given = load ptr, ptr %given_at
  %outer_at = getelementptr i64, ptr %function_at, i64 5
  %outer = load ptr, ptr %outer_at
  %arguments = getelementptr i64, ptr %frame, i64 %first
  %is_one = icmp eq ptr %outer, null
  %is_stop = icmp eq ptr %function, null
  br i1 %is_stop, label %stop, label %go
stop:
  ; A command without a function ends the list unless its number is zero; or, with a count, leaves
  ; out so many commands if it is.
  %flag_at = load ptr, ptr %arguments
  %bytes = load i64, ptr %sizes
  %is_short = icmp eq i64 %bytes, 4
  br i1 %is_short, label %short, label %long
short:
  %flag32 = load i32, ptr %flag_at
  %wide32 = zext i32 %flag32 to i64
  br label %test
long:
  %flag64 = load i64, ptr %flag_at
  br label %test
test:
  %flag = phi i64 [ %wide32, %short ], [ %flag64, %long ]
  %is_zero = icmp eq i64 %flag, 0
  %left_out = ptrtoint ptr %given to i64
  %is_end = icmp eq i64 %left_out, 0
  br i1 %is_end, label %end_list, label %leave_out
end_list:
  br i1 %is_zero, label %done, label %out
leave_out:
  %jump = select i1 %is_zero, i64 %left_out, i64 0
  br label %done
go:
  br i1 %is_one, label %once, label %nest
once:
  call void %function(ptr %arguments, ptr %sizes, ptr %strides, ptr %given)
  br label %done
nest:
  call void @run_nest(ptr %function, ptr %arguments, ptr %sizes, ptr %strides, ptr %given,
                      ptr %outer)
  br label %done
done:
  %over = phi i64 [ 0, %once ], [ 0, %nest ], [ 0, %end_list ], [ %jump, %leave_out ]
  %after = add i64 %c, %over
  %next_c = add i64 %after, 1
  %more_c = icmp slt i64 %next_c, %end
  br i1 %more_c, label %command, label %out
out:
  ret void
}}

; A call of a hand-written kernel (codegen/contexts.py), as a command: `given` is its function. The
; sizes are the number of words of its context, four integers, and for each word the pointer that
; it is (or -1) and a number that is added.
define void @clew_call_context(ptr %arguments, ptr %sizes, ptr %strides, ptr %given) {{
entry:
  %count = load i64, ptr %sizes
  %at1 = getelementptr i64, ptr %sizes, i64 1
  %i1 = load i64, ptr %at1
  %at2 = getelementptr i64, ptr %sizes, i64 2
  %i2 = load i64, ptr %at2
  %at3 = getelementptr i64, ptr %sizes, i64 3
  %i3 = load i64, ptr %at3
  %at4 = getelementptr i64, ptr %sizes, i64 4
  %i4 = load i64, ptr %at4
  %words = getelementptr i64, ptr %sizes, i64 5
  %context = alloca i64, i64 %count, align 8
  br label %fill
fill:
  %n = phi i64 [ 0, %entry ], [ %next, %store ]
  %pair = shl i64 %n, 1
  %which_at = getelementptr i64, ptr %words, i64 %pair
  %which = load i64, ptr %which_at
  %number_at = getelementptr i64, ptr %which_at, i64 1
  %number = load i64, ptr %number_at
  %is_number = icmp slt i64 %which, 0
  br i1 %is_number, label %store, label %pointer
pointer:
  %from = getelementptr i64, ptr %arguments, i64 %which
  %address = load i64, ptr %from
  br label %store
store:
  %base = phi i64 [ 0, %fill ], [ %address, %pointer ]
  %word = add i64 %base, %number
  %to = getelementptr i64, ptr %context, i64 %n
  store i64 %word, ptr %to
  %next = add i64 %n, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %fill, label %call
call:
  call void %given(ptr %context, i64 %i1, i64 %i2, i64 %i3, i64 %i4)
  ret void
}}

; Whether all words are what they were: a table of addresses, each with what was there.
define i64 @clew_same_words(ptr %table, i64 %count) {{
entry:
  %is_empty = icmp eq i64 %count, 0
  br i1 %is_empty, label %same, label %look
look:
  %n = phi i64 [ 0, %entry ], [ %next, %more ]
  %pair = shl i64 %n, 1
  %address_at = getelementptr i64, ptr %table, i64 %pair
  %address = load ptr, ptr %address_at
  %kept_at = getelementptr i64, ptr %address_at, i64 1
  %kept = load i64, ptr %kept_at
  %now = load i64, ptr %address
  %is_same = icmp eq i64 %now, %kept
  br i1 %is_same, label %more, label %other
more:
  %next = add i64 %n, 1
  %is_left = icmp slt i64 %next, %count
  br i1 %is_left, label %look, label %same
same:
  ret i64 1
other:
  ret i64 0
}}

define internal void @run_nest(ptr %function, ptr %arguments, ptr %sizes, ptr %strides, ptr %given,
                               ptr %outer) {{
entry:
  ; The number of calls, of loops, of pointers; then for each loop its length and strides.
  %total = load i64, ptr %outer
  %depth_at = getelementptr i64, ptr %outer, i64 1
  %depth = load i64, ptr %depth_at
  %width_at = getelementptr i64, ptr %outer, i64 2
  %width = load i64, ptr %width_at
  %loops = getelementptr i64, ptr %outer, i64 3
  %row = add i64 %width, 1
  %own = alloca [{MOST_ARGUMENTS} x i64], align 8
  br label %call
call:
  %n = phi i64 [ 0, %entry ], [ %next_n, %called ]
  br label %copy
copy:
  %a = phi i64 [ 0, %call ], [ %next_a, %copy ]
  %from = getelementptr i64, ptr %arguments, i64 %a
  %pointer = load i64, ptr %from
  %to = getelementptr i64, ptr %own, i64 %a
  store i64 %pointer, ptr %to
  %next_a = add i64 %a, 1
  %more_a = icmp slt i64 %next_a, %width
  br i1 %more_a, label %copy, label %loop
loop:
  %d = phi i64 [ 0, %copy ], [ %next_d, %moved ]
  %rest = phi i64 [ %n, %copy ], [ %quotient, %moved ]
  %at = mul i64 %d, %row
  %length_at = getelementptr i64, ptr %loops, i64 %at
  %length = load i64, ptr %length_at
  %quotient = udiv i64 %rest, %length
  %index = urem i64 %rest, %length
  br label %move
move:
  %m = phi i64 [ 0, %loop ], [ %next_m, %move ]
  %next_m = add i64 %m, 1
  %stride_at = getelementptr i64, ptr %length_at, i64 %next_m
  %stride = load i64, ptr %stride_at
  %distance = mul i64 %index, %stride
  %mine = getelementptr i64, ptr %own, i64 %m
  %old = load i64, ptr %mine
  %new = add i64 %old, %distance
  store i64 %new, ptr %mine
  %more_m = icmp slt i64 %next_m, %width
  br i1 %more_m, label %move, label %moved
moved:
  %next_d = add i64 %d, 1
  %more_d = icmp slt i64 %next_d, %depth
  br i1 %more_d, label %loop, label %called
called:
  call void %function(ptr %own, ptr %sizes, ptr %strides, ptr %given)
  %next_n = add i64 %n, 1
  %more_n = icmp slt i64 %next_n, %total
  br i1 %more_n, label %call, label %out
out:
  ret void
}}
"""
