"""Views after a write to their base, or to another view of it: their node and their gradient."""

from __future__ import annotations

from typing import Any

import pytest

from tests.statements import assert_agree
from tests.twice import leaf, twice

VIEWS: list[Any] = [
    lambda x: x[1], lambda x: x[1:, ::2], lambda x: x.t(), lambda x: x.view(-1)[2:5],
    lambda x: x.expand(2, 3, 4), lambda x: x.unfold(0, 2, 1), lambda x: x.diagonal(),
    lambda x: x.unsqueeze(0), lambda x: x[...], lambda x: x.as_strided((3,), (2,), 1),
    lambda x: x[1:].t()[0], lambda x: x.reshape(2, 6).transpose(0, 1)[1:3],
]  # fmt: skip


@twice
def test_after_the_base_was_written(lib: Any) -> Any:
    seen: list[Any] = []
    for view in VIEWS:
        x = leaf(lib, [[0.1 * i + j for i in range(4)] for j in range(3)])
        base = x * 2
        part = view(base)
        base.mul_(base.detach().sin())
        steps = part.grad_fn.name(), part.grad_fn.next_functions[0][0].name()
        (grad,) = lib.autograd.grad((part * part).sum(), x, create_graph=True)
        grad.sum().backward()
        seen.append([steps, part, grad, x.grad])
    return seen


@twice
def test_after_the_view_was_written(lib: Any) -> Any:
    seen: list[Any] = []
    for view in VIEWS:
        x = leaf(lib, [[0.1 * i + j for i in range(4)] for j in range(3)])
        base = x * 2
        part = view(base)
        if 0 in part.stride() or (part.numel() > base.numel() // 2 and part.ndim == 3):
            continue
        part.exp_()
        part.retain_grad()
        (part.sum() + base.sum()).backward()
        seen.append([part.grad_fn.name(), base.grad_fn.name(), part.grad, x.grad])
    return seen


@twice
def test_views_that_show_elements_otherwise(lib: Any) -> Any:
    seen: list[Any] = []
    for view in (
        lib.view_as_real, lambda z: z.real, lambda z: z.imag, lambda z: z.real[0], lib.conj,
        lambda z: lib.view_as_real(z)[0],
    ):  # fmt: skip
        x = leaf(lib, [[1 + 2j, 3 - 1j], [0.5j, 2]], "complex128")
        base = x * 2
        part = view(base)
        base.mul_(3)
        part.abs().sum().backward()
        seen.append([part.grad_fn.name(), x.grad])
    return seen


@twice
def test_writes_of_a_constant(lib: Any) -> Any:
    def name(write: Any, shape: tuple[int, ...] = (2, 3)) -> Any:
        x = lib.ones(shape, dtype=lib.float64, requires_grad=True) * 2
        write(x)
        return x.grad_fn.name(), type(x.grad_fn).__name__

    one, row = lib.tensor(5.0, dtype=lib.float64), lib.ones(3, dtype=lib.float64)
    return [
        name(lambda x: x.fill_(3)), name(lambda x: x.fill_(one)), name(lambda x: x.copy_(0.5)),
        name(lambda x: x.copy_(row)), name(lambda x: x.__setitem__(slice(None), 3)),
        name(lambda x: x.__setitem__(..., 3)), name(lambda x: x.__setitem__(..., 3), ()),
        name(lambda x: x.__setitem__(..., one)), name(lambda x: x.__setitem__(..., row)),
        name(lambda x: x.__setitem__((slice(0, 2), slice(None)), 3)),
        name(lambda x: x.__setitem__(slice(1, None), 3)), name(lambda x: x.__setitem__(None, 3)),
    ]  # fmt: skip


BASES = ["x * 2", "x.t() * 2", "(x * 2).t().contiguous().t()", "x[:, None] * 2", "x.t().clone()"]
PARTS = ["b.view(-1)", "b[0]", "b[..., 1:]", "b.flatten(0, 0)", "b.unsqueeze(0)"]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("base", BASES)
def test_gradients_lie_in_memory_as_the_base_does(base: str, part: str) -> None:
    assert_agree(f"""
        x = T.arange(12.0).view(3, 4).requires_grad_()
        b = {base}
        v = {part}
        with T.no_grad(): b.mul_(2)
        T.autograd.grad(v.sum(), b, retain_graph=True)[0].stride()
        v.mul_(3)
        T.autograd.grad(b.sum(), x, retain_graph=True)[0].stride()
        T.autograd.grad((v * v).sum(), x, create_graph=True)[0].stride()
        y = T.autograd.grad(v.sum(), x)[0]
        y, y.stride()
    """)


def test_the_gradient_of_a_leaf_through_a_remade_view_may_be_written_to() -> None:
    assert_agree("""
        x = T.ones(2, requires_grad=True)
        v = x.reshape(-1)
        with T.no_grad(): v.zero_()
        g = T.autograd.grad(v.sum(), x)[0]
        g.stride(), g.mul_(2)
    """)
