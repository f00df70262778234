"""Complex numbers of half precision: what PyTorch does with them, and what it refuses."""

from __future__ import annotations

import io
from typing import Any

from tests.twice import raised, twice


def _said(m: Any, value: Any) -> Any:
    """A result with its dtype; in a dtype that can be compared."""
    if isinstance(value, (list, tuple)):
        return [_said(m, each) for each in value]
    if isinstance(value, m.Tensor) and value.dtype is m.complex32:
        return "complex32", value.stride(), value.to(m.complex64)
    return value


def _numbers(m: Any) -> Any:
    values = [1 + 2j, 3 - 1j, 0.5 + 0j, -2j, complex(float("inf"), 1)]
    return m.tensor(values, dtype=m.complex64).to(m.complex32)


WORKS = (
    lambda m, x, h: (x * x[:2].repeat(3)[:5], x + 1, x - 1j, x * 2.5, 3 * x, 1 - x[:4]),
    lambda m, x, h: (x + h, h * 1j, h + 1j, x + h.float(), x + h.double(), x + h.bfloat16()),
    lambda m, x, h: (x + h.long(), x + m.ones(5, dtype=m.complex64), x.mul(m.tensor(2j))),
    lambda m, x, h: (x.abs(), -x, x.conj().resolve_conj(), x.conj_physical(), x[:4].sgn()),
    lambda m, x, h: (x == x, x != h, x == 3 - 1j, x.isfinite(), x.isinf(), x.isnan(), x.isreal()),
    lambda m, x, h: (x.real, x.imag, m.view_as_real(x), x.view(m.float16), x.view(m.int32)),
    lambda m, x, h: (m.view_as_complex(m.stack([h, h], 1)), m.complex(h, -h), h[:4].view(m.chalf)),
    lambda m, x, h: (x.to(m.complex128), x.half(), x.float(), x.bool(), x[:4].long(), x.chalf()),
    lambda m, x, h: (h.to(m.complex32), h.long().chalf(), m.ones(2, dtype=m.bool).chalf()),
    lambda m, x, h: (x.tolist(), x[1].item(), complex(x[1]), bool(x[2]), x.any(), x.all()),
    lambda m, x, h: [f((2, 1), dtype=m.chalf) for f in (m.zeros, m.ones)] + [m.zeros_like(x)],
    lambda m, x, h: (m.full((2,), 1 + 2j, dtype=m.chalf), m.tensor([1j], dtype=m.chalf)),
    lambda m, x, h: (m.cat([x, x]), m.cat([x, h]), m.stack([x, x], 1), x.repeat(2), x.roll(1)),
    lambda m, x, h: (x[1:], x[::2], x[m.tensor([0, 1])], x[x == x], x.expand(2, 5), x[:, None]),
    lambda m, x, h: (x.masked_fill(x == x, 2j), m.where(x == x, x, 1j), x.nonzero()),
    lambda m, x, h: (x.index_select(0, m.tensor([1])), x.index_add(0, m.tensor([0]), x[:1])),
    lambda m, x, h: (x[:4].reshape(2, 2).mH, x[:4].reshape(2, 2).tril(), m.outer(x[:2], x[:2])),
    lambda m, x, h: (x[:4].norm(), m.linalg.vector_norm(x[:4]), m.norm(x[:4], float("inf"))),
    lambda m, x, h: (x[:4].addcmul(x[:4], x[:4]), m.nn.functional.pad(x, (1, 1))),
    lambda m, x, h: (x.add_(1), x.mul_(2j), x.copy_(h), x.fill_(1j), x.zero_()),
    lambda m, x, h: (str(x), repr(x[:1].real), x.type(), x.element_size(), x.is_complex()),
    lambda m, x, h: m.pow(1 + 0j, h),
    lambda m, x, h: [m.promote_types(m.complex32, each) for each in (m.half, m.float, m.double)],
    lambda m, x, h: (m.result_type(h, 1j), m.result_type(x, 1.0), m.can_cast(m.chalf, m.half)),
    lambda m, x, h: (m.half.to_complex(), m.complex32.to_real(), repr(m.finfo(m.complex32))),
)


@twice
def test_what_there_is(m: Any) -> Any:
    seen = []
    for work in WORKS:
        half = m.tensor([1.0, -2.0, 3.0, 0.25, 65504.0]).half()
        seen.append(_said(m, work(m, _numbers(m), half)))
    return seen


@twice
def test_what_is_refused(m: Any) -> Any:
    x, h = _numbers(m), m.ones(2).half()
    calls = (
        lambda: x / x, lambda: x.exp(), lambda: x**2, lambda: h / 1j, lambda: h**1j,
        lambda: (2j) ** h, lambda: x.log(), lambda: x.reciprocal(), lambda: x.numpy(),
        lambda: m.polar(h, h), lambda: x.tanh(), lambda: x.sort(), lambda: x.clamp(0),
    )  # fmt: skip
    return [raised(call, words=1)[:2] for call in calls]


@twice
def test_gradients_and_files(m: Any) -> Any:
    x = m.tensor([1 + 2j, 3.0], dtype=m.complex32, requires_grad=True)
    (x * x * (1 + 1j)).abs().float().sum().backward()
    file = io.BytesIO()
    m.save({"x": x.detach()}, file)
    file.seek(0)
    return _said(m, x.grad), _said(m, m.load(file)["x"])


@twice
def test_random_numbers(m: Any) -> Any:
    m.manual_seed(3)
    return _said(m, [m.rand(4, dtype=m.complex32), m.randn(4, dtype=m.chalf)])


@twice
def test_the_default_dtype_decides(m: Any) -> Any:
    before = m.get_default_dtype()
    try:
        m.set_default_dtype(m.float16)
        return m.tensor([1j]).dtype, m.tensor(1.0).dtype, m.result_type(m.ones(1).int(), 1j)
    finally:
        m.set_default_dtype(before)
