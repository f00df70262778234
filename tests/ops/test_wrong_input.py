"""Wrong input: which of several mistakes is said, and how, as in PyTorch; and memory of `out=`."""

from __future__ import annotations

import pytest

from tests.statements import assert_agree

REDUCTIONS = [
    "x.nansum(5)", "x.mean(5)", "x.mean(5, dtype=T.int32)", "x.sort(dim=5)", "x.argsort(5)",
    "x.cumsum(5, dtype=T.bool)", "x.cumsum(0, dtype=T.bool)", "x.cumprod(0, dtype=T.bool)",
    "x.prod(5, dtype=T.bool)", "x.prod((0,), dtype=T.int32)", "x.prod((0,), keepdim=True)",
    "x.max((0,), keepdim=True)", "T.max(x, (0,), keepdim=True)", "x.min((0,))", "T.min(x, ())",
    "x.aminmax(dim=5)", "x.aminmax(dim=(0, 1))", "x.mode(0)", "x.mode(5)",
]  # fmt: skip


@pytest.mark.parametrize("call", REDUCTIONS)
@pytest.mark.parametrize("shape", [(2,), (), (2, 0)])
@pytest.mark.parametrize("dtype", ["float32", "int64", "complex64"])
def test_dimensions_and_dtypes(call: str, shape: tuple[int, ...], dtype: str) -> None:
    grad = "" if dtype == "int64" else ".requires_grad_()"
    assert_agree(f"""
        x = T.ones({shape}, dtype=T.{dtype}).detach()
        {call}
        x{grad} is x
        {call}
    """)


INDICES = """
    w = T.ones(2, 3)
    w[[0, 1], [0, 1, 7]]
    w[T.tensor([7, 8]), T.tensor([0, 1, 2])]
    w[T.tensor([[0], [9]]), T.tensor([True])]
    w[T.tensor([9]), T.tensor([True, False, True])]
    w[T.tensor([1, 0, 1], dtype=T.uint8)] = 1
    w[T.tensor([1, 0], dtype=T.uint8)] = 1
    w[T.tensor([[1, 0]], dtype=T.uint8)] = 1
    w[T.tensor([9])] = T.ones(3, dtype=T.float64)
    w[T.tensor([0])] = T.ones(7, dtype=T.float64)
    w[[0, 1]] = w
    w[T.tensor([])] = w
    w
    d = T.arange(9.0).reshape(3, 3).diagonal()
    d[T.tensor([0, 2, 1])] = d
    d
    e = T.zeros(0, 3, dtype=T.int64)
    e[T.tensor([1, 2])] = e
    e[e] = T.ones(2)
    m = T.ones(2, dtype=T.uint8)
    m[m] = T.ones(2, 2)
    one = T.ones(1, 1)
    one[one > 7] = T.full((1, 1), 5.0)
    one[one > 0] = T.full((1, 1), 5.0)
    one[one > 0] = T.full((1, 1, 1), 6.0)
    one
    T.cat([T.tensor(2.0)], out=T.tensor(1))
    leaf = T.empty((0, 3), requires_grad=True)
    leaf[1:, T.tensor([[0], [2]])] = -1
    leaf[:, T.tensor([[0], [2]])] = -1
"""
EMPTY = """
    x = T.ones(1, 2, 4, 3, requires_grad=True)
    y = x[True, [1, 0], :1, :0]
    y.sum().backward()
    x.grad.sum()
    table = T.zeros((2, 0), requires_grad=True)
    F.embedding(T.tensor([0, 0, 1]), table).sum().backward()
    table.grad
    F.embedding(T.tensor([0, 2]), table)
    F.embedding(T.tensor([0, 2]), T.zeros(2, 3))
    F.embedding(T.tensor([0]), T.ones(2, dtype=T.complex64, requires_grad=True))
"""
VIEWS_AS_DTYPES = """
    T.empty((2, 0)).view(T.float64)
    T.empty((0, 2)).view(T.float64).shape
    T.zeros((3, 3))[:, :2].view(T.float64)
    T.zeros((3, 4))[:, 1:3].view(T.float64)
    T.zeros((3, 4))[:, 2:].view(T.float64).shape
    T.zeros((3, 2)).t().view(T.float16)
    with T.inference_mode(): x = T.zeros(2)
    x.view(T.int32).is_inference(), x.view(T.float32).is_inference(), x.view(T.int32)._version
"""
WRITES = """
    b = T.ones(2, dtype=T.bool)
    b.fmod_(0)
    b.remainder_(0)
    b.floor_divide_(T.tensor([0, 1]))
    b
    with T.inference_mode(): i = T.ones(2, dtype=T.int32)
    i.log1p_()
    i.add_(1)
    x = T.ones(4)
    x.data[0:2].mul_(x[1:3])
    x.data.add_(x)
    x.expand(2, 4).copy_(x)
    e = x.expand(2, 4)
    e.copy_(e) is e, e._version
    e[:] = x
    e._version
    T.add(T.ones(2, dtype=T.int64), T.ones(3, dtype=T.int64), alpha=0.5)
    T.add(T.ones(2, dtype=T.int64), T.ones(2, dtype=T.int64), alpha=0.5)
    F.kl_div(T.ones(2, dtype=T.complex64), T.ones(2, dtype=T.int64))
"""


@pytest.mark.parametrize("program", [INDICES, EMPTY, VIEWS_AS_DTYPES, WRITES])
def test_which_mistake_is_said(program: str) -> None:
    assert_agree(program)


def test_out_stays_in_its_memory() -> None:
    assert_agree("""
        x = T.zeros(6)
        v = x.view(2, 3)
        T.sum(T.ones(4, 3), 0, out=v)
        x, v, v._version, v._is_view()
        T.add(T.ones(2), 1, out=v)
        x, v
        T.add(T.ones(7), 1, out=v)
        x, v, x.untyped_storage().nbytes()
        part = x[2:4]
        T.exp(T.zeros(3), out=part)
        x, part.storage_offset()
        T.add(T.ones(2, 3, 4).permute(2, 0, 1), 1, out=x)
        x.stride(), x.shape
    """)


def test_out_of_memory_that_numpy_has() -> None:
    assert_agree("""
        x = T.zeros(1, 3)
        array = x.numpy()
        T.add(T.ones(4, 3), 1, out=x)
        T.add(T.ones(2), 1, out=x)
        x, array.tolist()
    """)


def test_out_that_repeats_memory_or_is_an_input() -> None:
    assert_agree("""
        e = T.ones(2, 3).expand(2, 2, 3)
        T.exp(e, out=e)
        T.maximum(T.ones(2, 2, 3), e, out=T.ones(3, dtype=T.int32).expand(2, 2, 3))
        T.cat([e], out=e)
        T.sum(e, 0, out=e)
        x = T.ones(2, 3)
        y = x.view(-1)
        T.sum(x, 0, out=x)
        y
        z = T.zeros(0)
        T.cat([z], out=z)
        T.cat([z, T.ones(2)], out=z)
    """)
