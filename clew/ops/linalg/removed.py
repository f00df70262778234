"""Functions that PyTorch has removed, and still names to say what replaces them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from clew import errors
from clew.core.public import FUNCTIONS, methods
from clew.core.tensor import Tensor


def _removed(name: str, instead: str, arguments: int) -> Callable[..., NoReturn]:
    def function(input: Tensor, *args: Any, **kwargs: Any) -> NoReturn:
        if len(args) + len(kwargs) < arguments - 1:
            raise TypeError(
                f"{name}() missing 1 required positional argument: 'A'" + errors.at_user_line()
            )
        raise RuntimeError(
            "This function was deprecated since version 1.9 and is now removed.\n  "
            f"Instead of `{name}`: {instead}" + errors.at_user_line()
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Removed: {instead}"
    return function


_INSTEAD = {
    "eig": ("`linalg.eig(A)` or `linalg.eigvals(A)`, whose results are complex.", 1),
    "symeig": ("`linalg.eigh(A, UPLO)`, which reads the lower triangle unless told otherwise.", 1),
    "matrix_rank": ("`linalg.matrix_rank(A)`, where `symmetric` is called `hermitian`.", 1),
    "solve": ("`linalg.solve(A, B)`, with the arguments the other way around.", 2),
    "lstsq": ("`linalg.lstsq(A, B)`, with the arguments the other way around.", 2),
}

for _name, (_instead, _arguments) in _INSTEAD.items():
    FUNCTIONS[_name] = _removed(_name, _instead, _arguments)
    if _name != "matrix_rank":
        methods(**{_name: FUNCTIONS[_name]})
