"""NumPy arrays in cache-line aligned memory.

`malloc` aligns to 16 bytes. A vector of 64 bytes then mostly lies in two cache lines: loading it
takes twice as long, and two threads that write to neighbouring parts of an array share a line
(false sharing). NumPy takes an allocator from others (NEP 49). This one calls `malloc` with some
bytes of padding, and stores the address that `malloc` gave just before the aligned one.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from numpy._core import _multiarray_umath  # type: ignore[attr-defined]  # no stub for it

from clew.kernels.runtime import block_allocator
from clew.kernels.runtime.cpu import CACHE_LINE, PAGE
from clew.kernels.runtime.numpy_capi import api_table

# From this size on huge pages are asked for, as NumPy does.
_HUGE_PAGES = 4 << 20
_MADV_HUGEPAGE = 14  # <sys/mman.h>
# Room for malloc's address, and for the alignment.
_PADDING = CACHE_LINE + 16
_NUMPY_DEFAULT = "default_allocator"
# The index of `PyDataMem_SetHandler` in NumPy's C API.
_SET_HANDLER = 304
FUNCTIONS = ("clew_malloc", "clew_calloc", "clew_realloc", "clew_free", "clew_empty_cache")
IS_SUPPORTED = sys.platform == "linux"

_STUBS = "\n".join(f"define void @{name}() {{\n  ret void\n}}" for name in FUNCTIONS)


def source() -> str:
    """The functions that NumPy calls, in LLVM IR."""
    return block_allocator.source() + _functions() if IS_SUPPORTED else _STUBS


def _functions() -> str:
    return f"""
declare ptr @malloc(i64)
declare ptr @calloc(i64, i64)
declare void @free(ptr)
declare i64 @malloc_usable_size(ptr)
declare i32 @madvise(ptr, i64, i32)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define internal ptr @clew_align(ptr %memory, i64 %size) {{
entry:
  %none = icmp eq ptr %memory, null
  br i1 %none, label %fail, label %some
fail:
  ret ptr null
some:
  %address = ptrtoint ptr %memory to i64
  %beyond = add i64 %address, {_PADDING - 1}
  %line = and i64 %beyond, {-CACHE_LINE}
  %start = inttoptr i64 %line to ptr
  %header = getelementptr i8, ptr %start, i64 -8
  store ptr %memory, ptr %header, align 8
  %large = icmp uge i64 %size, {_HUGE_PAGES}
  br i1 %large, label %advise, label %out
advise:
  %next = add i64 %line, {PAGE - 1}
  %page = and i64 %next, {-PAGE}
  %skipped = sub i64 %page, %line
  %rest = sub i64 %size, %skipped
  %pages = inttoptr i64 %page to ptr
  %ignored = call i32 @madvise(ptr %pages, i64 %rest, i32 {_MADV_HUGEPAGE})
  br label %out
out:
  ret ptr %start
}}

define ptr @clew_malloc(ptr %unused, i64 %size) {{
entry:
  %whole = add i64 %size, {_PADDING}
  %large = icmp uge i64 %size, {block_allocator.MIN_BLOCK}
  br i1 %large, label %cached, label %new
cached:
  %block = call ptr @clew_allocate_cached(i64 %whole)
  %none = icmp eq ptr %block, null
  br i1 %none, label %new, label %out
new:
  %fresh = call ptr @malloc(i64 %whole)
  %failed = icmp eq ptr %fresh, null
  br i1 %failed, label %retry, label %out
retry:
  call void @clew_empty_cache()
  %retried = call ptr @malloc(i64 %whole)
  br label %out
out:
  %memory = phi ptr [ %block, %cached ], [ %fresh, %new ], [ %retried, %retry ]
  %start = call ptr @clew_align(ptr %memory, i64 %size)
  ret ptr %start
}}

define ptr @clew_calloc(ptr %unused, i64 %count, i64 %each) {{
  ; NumPy has checked that this product does not overflow.
  %size = mul i64 %count, %each
  %whole = add i64 %size, {_PADDING}
  %memory = call ptr @calloc(i64 1, i64 %whole)
  %start = call ptr @clew_align(ptr %memory, i64 %size)
  ret ptr %start
}}

define void @clew_free(ptr %unused, ptr %start, i64 %size) {{
entry:
  %none = icmp eq ptr %start, null
  br i1 %none, label %out, label %some
some:
  %header = getelementptr i8, ptr %start, i64 -8
  %memory = load ptr, ptr %header, align 8
  %large = icmp uge i64 %size, {block_allocator.MIN_BLOCK}
  br i1 %large, label %cache, label %release
cache:
  %whole = call i64 @malloc_usable_size(ptr %memory)
  call void @clew_cache_block(ptr %memory, i64 %whole)
  br label %out
release:
  call void @free(ptr %memory)
  br label %out
out:
  ret void
}}

define ptr @clew_realloc(ptr %unused, ptr %start, i64 %size) {{
entry:
  %new = call ptr @clew_malloc(ptr %unused, i64 %size)
  %failed = icmp eq ptr %new, null
  %first = icmp eq ptr %start, null
  %nothing = or i1 %failed, %first
  br i1 %nothing, label %out, label %copy
copy:
  %header = getelementptr i8, ptr %start, i64 -8
  %memory = load ptr, ptr %header, align 8
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


# NumPy's handler, what it refers to, and the function that frees cached blocks; empty until
# `install`.
_capsules: list[Any] = []
_alive: list[Any] = []
_empty_cache: list[Any] = []


def install(addresses: list[int], owner: Any) -> None:
    """Have NumPy allocate new arrays through these functions; `owner` is what loaded them."""
    if not IS_SUPPORTED:
        return
    *for_numpy, empty_cache = addresses
    _empty_cache.append(ctypes.CFUNCTYPE(None)(empty_cache))
    handler, name = _Handler(b"clew", 1, None, *for_numpy), ctypes.c_char_p(b"mem_handler")
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = (
        ctypes.py_object,
        [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
    )
    _alive.extend((handler, name, owner))
    _capsules.append(new(ctypes.addressof(handler), name, None))
    for each in (*_alive, *_capsules):
        # Never freed: arrays may outlive this module when Python ends.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(each))


def empty_cache() -> None:
    """Free the blocks that are cached for large arrays."""
    for function in _empty_cache:
        function()


def use_in_this_thread() -> None:
    """Set NumPy's allocator, which is per thread, unless the program has set one itself."""
    if _capsules and _multiarray_umath.get_handler_name() == _NUMPY_DEFAULT:
        _set_handler()(_capsules[0])


def _set_handler() -> Any:
    table = api_table(_multiarray_umath._ARRAY_API)
    return ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(table[_SET_HANDLER])
