"""NumPy arrays in cache-line aligned memory.

The C library gives memory at multiples of 16 bytes. A vector of 64 bytes then mostly lies in two
lines of the cache: reading it takes twice as long, and two threads that write parts of one array
side by side take the line between them from each other. NumPy lets others provide the memory of
its arrays (NEP 49): here it comes from the C library, with some bytes more, in front of which lies
its address.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from numpy._core import _multiarray_umath  # type: ignore[attr-defined]  # no stub for it

from clew.kernels.runtime import block_allocator

LINE = 64
# From this size on the system is asked for large pages, as NumPy does.
_LARGE_PAGES = 4 << 20
_PAGE, _HUGEPAGE = 4096, 14  # <sys/mman.h>
# Room for an address in front, and for moving on to the next line.
_MORE = LINE + 16
_NUMPYS_OWN = "default_allocator"
# Where NumPy's table for C has the function that sets who provides memory.
_SET_HANDLER = 304
NAMES = ("clew_take", "clew_take_zeros", "clew_take_again", "clew_give_back", "clew_let_go")
HAS_LARGE_PAGES = sys.platform == "linux"

_NOTHING = "\n".join(f"define void @{name}() {{\n  ret void\n}}" for name in NAMES)


def source() -> str:
    """The functions that NumPy calls, in LLVM IR."""
    return block_allocator.source() + _functions() if HAS_LARGE_PAGES else _NOTHING


def _functions() -> str:
    return f"""
declare ptr @malloc(i64)
declare ptr @calloc(i64, i64)
declare void @free(ptr)
declare i64 @malloc_usable_size(ptr)
declare i32 @madvise(ptr, i64, i32)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define internal ptr @clew_line(ptr %memory, i64 %size) {{
entry:
  %none = icmp eq ptr %memory, null
  br i1 %none, label %fail, label %some
fail:
  ret ptr null
some:
  %address = ptrtoint ptr %memory to i64
  %beyond = add i64 %address, {_MORE - 1}
  %line = and i64 %beyond, {-LINE}
  %start = inttoptr i64 %line to ptr
  %before = getelementptr i8, ptr %start, i64 -8
  store ptr %memory, ptr %before, align 8
  %large = icmp uge i64 %size, {_LARGE_PAGES}
  br i1 %large, label %advise, label %out
advise:
  %next = add i64 %line, {_PAGE - 1}
  %page = and i64 %next, {-_PAGE}
  %skipped = sub i64 %page, %line
  %rest = sub i64 %size, %skipped
  %pages = inttoptr i64 %page to ptr
  %ignored = call i32 @madvise(ptr %pages, i64 %rest, i32 {_HUGEPAGE})
  br label %out
out:
  ret ptr %start
}}

define ptr @clew_take(ptr %unused, i64 %size) {{
entry:
  %whole = add i64 %size, {_MORE}
  %large = icmp uge i64 %size, {block_allocator.LEAST}
  br i1 %large, label %again, label %new
again:
  %kept = call ptr @clew_kept(i64 %whole)
  %none = icmp eq ptr %kept, null
  br i1 %none, label %new, label %out
new:
  %fresh = call ptr @malloc(i64 %whole)
  %failed = icmp eq ptr %fresh, null
  br i1 %failed, label %last, label %out
last:
  call void @clew_let_go()
  %scraped = call ptr @malloc(i64 %whole)
  br label %out
out:
  %memory = phi ptr [ %kept, %again ], [ %fresh, %new ], [ %scraped, %last ]
  %start = call ptr @clew_line(ptr %memory, i64 %size)
  ret ptr %start
}}

define ptr @clew_take_zeros(ptr %unused, i64 %count, i64 %each) {{
  ; NumPy has seen to it that this product is a size.
  %size = mul i64 %count, %each
  %whole = add i64 %size, {_MORE}
  %memory = call ptr @calloc(i64 1, i64 %whole)
  %start = call ptr @clew_line(ptr %memory, i64 %size)
  ret ptr %start
}}

define void @clew_give_back(ptr %unused, ptr %start, i64 %size) {{
entry:
  %none = icmp eq ptr %start, null
  br i1 %none, label %out, label %some
some:
  %before = getelementptr i8, ptr %start, i64 -8
  %memory = load ptr, ptr %before, align 8
  %large = icmp uge i64 %size, {block_allocator.LEAST}
  br i1 %large, label %keep, label %give
keep:
  %whole = call i64 @malloc_usable_size(ptr %memory)
  call void @clew_keep(ptr %memory, i64 %whole)
  br label %out
give:
  call void @free(ptr %memory)
  br label %out
out:
  ret void
}}

define ptr @clew_take_again(ptr %unused, ptr %start, i64 %size) {{
entry:
  %new = call ptr @clew_take(ptr %unused, i64 %size)
  %failed = icmp eq ptr %new, null
  %first = icmp eq ptr %start, null
  %nothing = or i1 %failed, %first
  br i1 %nothing, label %out, label %copy
copy:
  %before = getelementptr i8, ptr %start, i64 -8
  %memory = load ptr, ptr %before, align 8
  %usable = call i64 @malloc_usable_size(ptr %memory)
  %end = getelementptr i8, ptr %memory, i64 %usable
  %to = ptrtoint ptr %end to i64
  %from = ptrtoint ptr %start to i64
  %have = sub i64 %to, %from
  %less = icmp ult i64 %have, %size
  %common = select i1 %less, i64 %have, i64 %size
  call void @llvm.memcpy.p0.p0.i64(ptr %new, ptr %start, i64 %common, i1 false)
  call void @free(ptr %memory)
  br label %out
out:
  ret ptr %new
}}
"""


class _Handler(ctypes.Structure):
    """NumPy's PyDataMem_Handler."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", ctypes.c_void_p),
        ("malloc", ctypes.c_void_p),
        ("calloc", ctypes.c_void_p),
        ("realloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    )


# What NumPy is given, and what frees the blocks that are kept; nothing as long as there is no
# compiled code.
_capsules: list[Any] = []
_kept: list[Any] = []
_freeing: list[Any] = []


def provide(addresses: list[int], owner: Any) -> None:
    """The functions from which NumPy is to take the memory of new arrays."""
    if not HAS_LARGE_PAGES:
        return
    *for_numpy, for_us = addresses
    _freeing.append(ctypes.CFUNCTYPE(None)(for_us))
    handler, name = _Handler(b"clew", 1, None, *for_numpy), ctypes.c_char_p(b"mem_handler")
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = (
        ctypes.py_object,
        [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
    )
    _kept.extend((handler, name, owner))
    _capsules.append(new(ctypes.addressof(handler), name, None))
    for each in (*_kept, *_capsules):
        # Arrays may be freed when Python has let go of everything else.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(each))


def let_go() -> None:
    """Give the system the memory back that is kept for large arrays."""
    for free in _freeing:
        free()


def use_in_this_thread() -> None:
    """NumPy keeps who provides memory for each thread. A program's own choice stays."""
    if _capsules and _multiarray_umath.get_handler_name() == _NUMPYS_OWN:
        _set_handler()(_capsules[0])


def _set_handler() -> Any:
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(
        pointer(_multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p)
    )
    return ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(table[_SET_HANDLER])
