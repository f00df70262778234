"""Optimization levels: modules of which a part is compiled at -O0.

LLVM takes ten times as long to make good code as to make some. A function that runs once for many
elements is marked by `QUICK` among its attributes: those of a module become a module of their own.
They may call the others, not the other way round.
"""

from __future__ import annotations

import re

QUICK = 'nounwind "quick"'

_NAME = re.compile(r"@\w+")


def split(module: str) -> tuple[str, str]:
    """The module of what is compiled with care, and that of the rest; one of them may be empty.

    What is outside of functions goes to both, so it must not be memory that changes.
    """
    careful: list[list[str]] = []
    quick: list[list[str]] = []
    common: list[str] = []
    place = common
    for line in module.splitlines():
        if line.startswith("define "):
            place = []
            (quick if line.endswith(f" {QUICK} {{") else careful).append(place)
        place.append(line)
        if line == "}":
            place = common
    if not quick:
        return module, ""
    if not careful:
        return "", module
    if any(" global " in line and "external" not in line for line in common):
        raise ValueError("a module with memory of its own cannot be two")
    called = set(_NAME.findall("\n".join(line for each in quick for line in each)))
    declared = []
    for function in careful:
        head = function[0].removeprefix("define ").removeprefix("internal ")
        if _NAME.findall(head)[0] in called:
            function[0] = f"define {head}"
            declared.append(f"declare {head[: head.rindex(')') + 1]}")
    return _text(common, *careful), _text(common, declared, *quick)


def _text(*parts: list[str]) -> str:
    return "\n".join(line for part in parts for line in part) + "\n"
