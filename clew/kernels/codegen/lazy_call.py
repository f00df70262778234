"""Calls of functions that are compiled on first call."""

from __future__ import annotations

from clew.kernels.codegen.emitter import Emitter
from clew.kernels.runtime.lazy_compilation import RECORD


def call_lazily(e: Emitter, table: str, index: int | str, arguments: str) -> None:
    """Call the function at an index of a table, which the runtime provides by name."""
    e.declare_external(f"@{table}")
    e.declare("ptr @clew_resolve(ptr)")
    record = e.value(f"getelementptr {RECORD}, ptr @{table}, i64 {index}")
    e.line(f"call void {e.value(f'call ptr @clew_resolve(ptr {record})')}({arguments})")
