"""Calls of functions that are compiled when compiled code first calls them."""

from __future__ import annotations

from clew.kernels.codegen.emitter import Emitter
from clew.kernels.runtime.lazy_compilation import RECORD


def call_lazily(e: Emitter, table: str, index: int | str, arguments: str) -> None:
    """In compiled code: call a function of a table that is provided by this name."""
    e.outside(f"@{table}")
    e.declare("ptr @clew_resolve(ptr)")
    record = e.value(f"getelementptr {RECORD}, ptr @{table}, i64 {index}")
    e.line(f"call void {e.value(f'call ptr @clew_resolve(ptr {record})')}({arguments})")
