"""grouped_mm against PyTorch, in sizes that its kernels take."""

from __future__ import annotations

from typing import Any

import pytest

import clew
from tests.twice import raised, twice


def _cases(m: Any, dtype: Any) -> list[Any]:
    def numbers(*shape: int) -> Any:
        count = m.Size(shape).numel()
        return ((m.arange(float(count)) % 7 - 3) / 4).reshape(shape).to(dtype)

    def ends(*where: int) -> Any:
        return m.tensor(where, dtype=m.int32)

    return [
        (numbers(8, 16), numbers(2, 16, 8), ends(3, 8)),
        (numbers(8, 16), numbers(2, 8, 16).mT, ends(0, 8)),
        (numbers(2, 8, 16), numbers(2, 16, 8), None),
        (numbers(8, 16), numbers(16, 8), ends(8, 16)),
        (numbers(2, 8, 16), numbers(16, 8), ends(4, 8)),
    ]


@twice
def test_values_and_gradients(m: Any) -> Any:
    seen: list[Any] = []
    for dtype in (m.float32, m.bfloat16, m.float16):
        for a, b, offs in _cases(m, dtype):
            a, b = a.requires_grad_(), b.requires_grad_()
            out = m.nn.functional.grouped_mm(a, b, offs=offs, out_dtype=dtype)
            grads = m.autograd.grad(out, (a, b), (out.detach() / 2).contiguous())
            seen += [out, out.grad_fn.name(), *grads]
    return seen


@twice
def test_what_it_refuses(m: Any) -> Any:
    mm, a, b = m.nn.functional.grouped_mm, m.ones(8, 16), m.ones(2, 16, 8)
    offs = m.tensor([3, 8], dtype=m.int32)
    return [
        raised(mm, a, b), raised(mm, m.ones(2, 8, 16), b, offs=offs), raised(mm, a[0], b),
        raised(mm, a, b, offs=offs.long()), raised(mm, a.double(), b.double(), offs=offs),
        raised(mm, a, m.ones(2, 8, 8), offs=offs), raised(mm, a, b, offs=offs[:1]),
        raised(mm, a, b, offs=offs[None]), raised(mm, m.ones(3, 8, 16), b),
        raised(mm, a, b, offs=offs, bias=m.ones(8)), raised(mm, a, b, offs=3),
        raised(mm, a, b, offs=offs, out_dtype=m.bfloat16),
    ]  # fmt: skip


def test_derivatives() -> None:
    a, b, offs = _cases(clew, clew.float32)[0]
    double = tuple(each.double().requires_grad_() for each in (a, b))
    ends = tuple(offs.tolist())
    product = clew.core.op.OPS["_grouped_mm"]
    assert clew.autograd.gradcheck(lambda x, y: product(x, y, ends=ends), double)
    assert clew.autograd.gradgradcheck(lambda x, y: product(x, y, ends=ends), double)


@pytest.mark.parametrize("where", [(5, 3), (5, 30), (-1, 8)])
def test_groups_stay_inside(where: tuple[int, int]) -> None:
    offs = clew.tensor(where, dtype=clew.int32)
    with pytest.raises(RuntimeError, match="offs must rise"):
        clew.nn.functional.grouped_mm(clew.ones(8, 16), clew.ones(2, 16, 8), offs=offs)
