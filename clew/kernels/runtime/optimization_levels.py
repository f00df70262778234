"""Optimization levels: a module whose functions are compiled at -O3 or at -O0.

LLVM takes ten times as long at -O3. A function that runs once for many elements is marked with the
attribute `O0`: those of a module become a module of their own. They may call the others, not the
other way round.
"""

from __future__ import annotations

import re

O0 = 'nounwind "O0"'

_SYMBOL = re.compile(r"@\w+")


def split(module: str) -> tuple[str, str]:
    """The module of the functions at -O3, and that of those at -O0; one of them may be empty.

    What is outside of functions goes to both, so it must not be memory that changes.
    """
    optimized: list[list[str]] = []
    unoptimized: list[list[str]] = []
    common: list[str] = []
    lines = common
    for line in module.splitlines():
        if line.startswith("define "):
            lines = []
            (unoptimized if line.endswith(f" {O0} {{") else optimized).append(lines)
        lines.append(line)
        if line == "}":
            lines = common
    if not unoptimized:
        return module, ""
    if not optimized:
        return "", module
    if any(" global " in line and "external" not in line for line in common):
        raise ValueError("a module with memory of its own cannot be two")
    called = set(_SYMBOL.findall("\n".join(line for each in unoptimized for line in each)))
    declared = []
    for function in optimized:
        head = function[0].removeprefix("define ").removeprefix("internal ")
        if _SYMBOL.findall(head)[0] in called:
            function[0] = f"define {head}"
            declared.append(f"declare {head[: head.rindex(')') + 1]}")
    return _text(common, *optimized), _text(common, declared, *unoptimized)


def _text(*parts: list[str]) -> str:
    return "\n".join(line for part in parts for line in part) + "\n"
