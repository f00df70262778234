"""What the public functions and methods are called."""

from __future__ import annotations

from typing import Any

from tests.twice import twice


@twice
def test_names_of_functions_and_aliases(lib: Any) -> Any:
    names = ("absolute", "arctan", "clip", "divide", "eq", "greater", "multiply", "negative", "qr")
    return [
        (getattr(home, name).__name__, getattr(home, name) is getattr(home, other))
        for home in (lib, lib.Tensor)
        for name, other in zip(
            names, ("abs", "atan", "clamp", "div", "ge", "gt", "mul", "neg", "svd"), strict=True
        )
    ]
