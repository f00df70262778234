"""Reflected operators called by name: with tensors, numbers, and what is neither."""

from __future__ import annotations

from typing import Any

from tests.twice import raised, twice

NAMES = ("add", "sub", "mul", "div", "truediv", "floordiv", "mod", "pow", "matmul")
BITWISE = ("and", "or", "xor", "lshift", "rshift")


def _of_two_tensors(lib: Any, name: str) -> Any:
    x, y = lib.tensor([5, 6]), lib.tensor([2, 3])
    results = [getattr(x, f"__r{name}__")(y)]
    if name in NAMES:
        a, b = x.double().requires_grad_(), y.double().requires_grad_()
        result = getattr(a, f"__r{name}__")(b)
        results.append(result)
        if name != "floordiv":
            results += lib.autograd.grad(result.sum(), (a, b))
    return results


@twice
def test_of_two_tensors(lib: Any) -> Any:
    return [_of_two_tensors(lib, name) for name in (*NAMES, *BITWISE)]


@twice
def test_of_what_is_no_tensor(lib: Any) -> Any:
    return [
        raised(getattr(lib.Tensor, f"__r{name}__"), 2, lib.tensor([1]), words=1)
        for name in ("add", "mul", "and", "or", "xor")
    ]


@twice
def test_old_division(lib: Any) -> Any:
    x = lib.tensor([4.0, 2.0])
    return x.__div__(2), x.__rdiv__(2), x.__idiv__(4)
