"""Large conjugate and negative views: their elements are not there until they are asked for."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import pytest

import clew
from clew.core.mirror import Unread
from tests.ops.shape.test_conj_views import VIEWS
from tests.twice import raised, twice

LARGE = 200


def large(torch: Any, requires_grad: bool = False) -> Any:
    numbers = torch.arange(LARGE * LARGE * 2, dtype=torch.float64).reshape(LARGE, LARGE, 2)
    return torch.view_as_complex(numbers.sin()).requires_grad_(requires_grad)


def is_unread(tensor: Any) -> bool:
    return type(tensor) is Unread


@pytest.mark.parametrize("view", VIEWS)
def test_large_views_see_writes_from_before_they_are_read(view: str) -> None:
    @twice
    def scenario(torch: Any) -> Any:
        x = large(torch)
        seen = VIEWS[view](x)
        x.mul_(2 - 1j)
        x[1, :3] = 5j
        early = seen.clone()
        seen.mul_(3)
        unread = VIEWS[view](x)
        unread.add_(1)
        return early, seen, unread, x, unread.is_conj(), unread.is_neg()

    scenario()


READS = {
    "shape": lambda torch, y: (y.shape, y.dtype, y.is_conj(), y.is_neg()),
    "class": lambda torch, y: (y.__class__ is torch.Tensor, isinstance(y, torch.Tensor)),
    "repr": lambda torch, y: repr(y[:2, :2]),
    "error": lambda torch, y: raised(torch.nn.Linear, y, 2, words=3),
    "item": lambda torch, y: y[3, 4].item(),
    "numpy": lambda torch, y: y.resolve_conj().numpy().sum().round(6).item(),
    "deepcopy": lambda torch, y: copy.deepcopy(y),
    "copy": lambda torch, y: copy.copy(y),
    "pickle": lambda torch, y: pickle.loads(pickle.dumps(y)),
    "saved": lambda torch, y: loaded(torch, y),
    "parameter": lambda torch, y: type(torch.nn.Parameter(y)) is torch.nn.Parameter,
    "data": lambda torch, y: y.data,
    "assigned": lambda torch, y: setattr(y, "data", torch.ones(3, dtype=y.dtype)) or y,
    "product": lambda torch, y: y @ y,
    "out": lambda torch, y: torch.add(y.clone(), 1, out=y),
    "vmap": lambda torch, y: torch.vmap(lambda row: row.sum())(y),
    "compared": lambda torch, y: torch.equal(y, y.clone()),
    "real": lambda torch, y: y.real.sum(),
    "again": lambda torch, y: y.conj(),
}


def loaded(torch: Any, tensor: Any) -> Any:
    file = io.BytesIO()
    torch.save(tensor, file)
    file.seek(0)
    return torch.load(file)


@pytest.mark.parametrize("read", READS)
def test_large_views_are_read(read: str) -> None:
    @twice
    def scenario(torch: Any) -> Any:
        y = large(torch).conj()
        found = READS[read](torch, y)
        return found, y.clone(), type(y) is torch.Tensor

    scenario()


def test_large_views_are_filled_when_they_are_read() -> None:
    x = large(clew, requires_grad=True)
    y, product = x.conj(), x.conj().conj()
    negative = y.imag
    assert is_unread(y) and is_unread(negative) and not is_unread(product)
    assert y.shape == (LARGE, LARGE) and y.is_conj() and is_unread(y)
    (grad,) = clew.autograd.grad(y, x, clew.ones_like(product.detach()))
    assert is_unread(grad) and is_unread(y)
    assert y[0, 1].item() == x[0, 1].item().conjugate()
    assert negative[0, 1].item() == -x[0, 1].item().imag
    assert type(y) is clew.Tensor and type(negative) is clew.Tensor and is_unread(grad)
    assert bool((grad == 1).all())


@twice
def test_large_views_in_a_graph(torch: Any) -> Any:
    x = large(torch, requires_grad=True)
    y = x.conj()
    (y * y).abs().sum().backward()
    hooked = large(torch, requires_grad=True)
    hooked.register_hook(lambda g: g.conj())
    (hooked.conj() * 2j).real.sum().backward()
    return x.grad, hooked.grad, hooked.grad.is_conj()
