"""Small programs as text, run statement by statement with torch and with clew, which must agree.

A statement that is an expression is compared by what it prints, any other by whether it raises. Of
an error the type and the first words count. `T` is the library.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

import torch

import clew

WORDS = 4


def assert_agree(program: str) -> None:
    """Run a program with both libraries and compare what each statement does."""
    lines = [line.strip() for line in program.strip().splitlines()]
    expected, actual = _outcomes(torch, lines), _outcomes(clew, lines)
    for line, theirs, ours in zip(lines, expected, actual, strict=True):
        assert ours == theirs, f"{line}: {ours}, but torch has {theirs}"


def _outcomes(module: Any, lines: list[str]) -> list[str]:
    names = {"T": module, "F": module.nn.functional}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [_outcome(line, names) for line in lines]


def _outcome(line: str, names: dict[str, Any]) -> str:
    try:
        try:
            code = compile(line, "program", "eval")
        except SyntaxError:
            exec(line, names)
            return ""
        return repr(eval(code, names))
    except Exception as error:  # the error is the outcome
        words = re.findall(r"[a-zA-Z]+", str(error).strip().split("\n")[0])[:WORDS]
        return f"{type(error).__name__}: {' '.join(words)}"
