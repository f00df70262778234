"""`scaled_dot_product_attention` in blocks: values, gradients, random numbers and memory."""

import gc
import tracemalloc
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.attention.bias  # PyTorch loads it on request

import clew
import clew.nn.functional as F
from clew.ops.nn import attention, attention_blocks
from tests.twice import raised, twice

ATTEND = {
    clew: F.scaled_dot_product_attention,
    torch: torch.nn.functional.scaled_dot_product_attention,
}


@pytest.fixture
def tiny_blocks(monkeypatch):
    """Blocks of few rows, for every call whatever its size."""
    monkeypatch.setattr(attention_blocks, "AT_ONCE", 1 << 7)
    monkeypatch.setattr(attention_blocks, "FEWEST_ROWS", 3)
    monkeypatch.setattr(attention_blocks, "MOST_CAUSAL_ROWS", 2)
    monkeypatch.setattr(attention, "LONG", 0)


def arrays(*shapes, dtype=np.float64):
    rng = np.random.default_rng(5)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def outcome(lib, tensors, mask=None, mask_needs=False, **options):
    """The result and the gradients of everything that can have one."""
    tensors = [lib.from_numpy(each.copy()).requires_grad_() for each in tensors]
    if mask is not None:
        mask = lib.from_numpy(mask.copy()).requires_grad_(mask_needs)
    lib.manual_seed(3)
    out = ATTEND[lib](*tensors, mask, **options)
    weights = lib.linspace(-1.0, 1.0, out.numel(), dtype=out.dtype).reshape(out.shape)
    (out * weights).sum().backward()
    followed = [*tensors, mask] if mask_needs else tensors
    return [out.detach().numpy(), *(each.grad.numpy() for each in followed)]


def same(ours, theirs, tolerance=1e-12):
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs):
        np.testing.assert_allclose(mine, other, rtol=tolerance, atol=tolerance)


FOUR = ((2, 3, 7, 4), (2, 3, 9, 4), (2, 3, 9, 4))
SQUARE = ((2, 3, 9, 4),) * 3
RNG = np.random.default_rng(11)
HOLES = RNG.random((2, 1, 7, 9)) < 0.6
HOLES[0, 0, 2] = False
BIAS = RNG.standard_normal((3, 7, 9))

CASES = {
    "plain": (FOUR, {}),
    "causal": (SQUARE, {"is_causal": True}),
    "causal, more queries": (((2, 3, 9, 4), (2, 3, 5, 4), (2, 3, 5, 4)), {"is_causal": True}),
    "causal, more keys": (((2, 3, 5, 4), (2, 3, 9, 4), (2, 3, 9, 4)), {"is_causal": True}),
    "scale": (FOUR, {"scale": -0.3}),
    "scale of nothing": (FOUR, {"scale": 0.0}),
    "flags": (FOUR, {"mask": HOLES}),
    "flags for all": (FOUR, {"mask": HOLES[0, 0]}),
    "numbers": (FOUR, {"mask": BIAS[None]}),
    "numbers for a row": (FOUR, {"mask": BIAS[:1, :1]}),
    "mask with gradient": (FOUR, {"mask": BIAS, "mask_needs": True}),
    "shared mask with gradient": (FOUR, {"mask": BIAS[:, :1, :], "mask_needs": True}),
    "gqa": (((2, 4, 7, 4), (2, 2, 9, 4), (2, 2, 9, 4)), {"enable_gqa": True}),
    "matrices": (((7, 4), (9, 4), (9, 5)), {}),
    "three dimensions": (((3, 7, 4), (3, 9, 4), (3, 9, 6)), {"mask": BIAS}),
    "five dimensions": (((2, 2, 3, 7, 4), (2, 2, 3, 9, 4), (2, 2, 3, 9, 4)), {"mask": BIAS}),
    "broadcast": (((2, 1, 7, 4), (3, 9, 4), (1, 3, 9, 4)), {"mask": HOLES}),
    "dropout": (FOUR, {"dropout_p": 0.4}),
    "causal dropout": (SQUARE, {"dropout_p": 0.4, "is_causal": True}),
    "flags and dropout": (FOUR, {"mask": HOLES, "dropout_p": 0.3}),
    "all dropped": (FOUR, {"dropout_p": 1.0}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_blocks_agree_with_pytorch(name, tiny_blocks):
    shapes, options = CASES[name]
    tensors = arrays(*shapes)
    same(outcome(clew, tensors, **options), outcome(torch, tensors, **options))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_blocks_in_low_precision(dtype, tiny_blocks):
    tensors = arrays(*SQUARE, dtype=np.float32)

    def out(lib):
        q, k, v = (lib.from_numpy(each).to(getattr(lib, dtype)) for each in tensors)
        return ATTEND[lib](q, k, v, is_causal=True).float().numpy()

    tolerance = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-6}[dtype]
    np.testing.assert_allclose(out(clew), out(torch), rtol=tolerance, atol=tolerance)


def test_dropout_draws_the_same_numbers_in_blocks_as_at_once(monkeypatch):
    """Also what comes after it: the stream stands where it would stand."""
    tensors = arrays(*SQUARE)
    at_once = outcome(clew, tensors, dropout_p=0.4, is_causal=True)
    after = clew.rand(3)
    monkeypatch.setattr(attention_blocks, "AT_ONCE", 1 << 7)
    monkeypatch.setattr(attention_blocks, "FEWEST_ROWS", 4)
    monkeypatch.setattr(attention, "LONG", 0)
    same(outcome(clew, tensors, dropout_p=0.4, is_causal=True), at_once)
    assert clew.equal(clew.rand(3), after)


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"dropout_p": 0.5}])
def test_second_derivatives_of_blocks(options, tiny_blocks):
    tensors = [clew.from_numpy(each).requires_grad_() for each in arrays(*((1, 2, 4, 3),) * 3)]

    def attend(*tensors):
        clew.manual_seed(1)
        return F.scaled_dot_product_attention(*tensors, **options)

    assert clew.autograd.gradcheck(attend, tensors)
    assert clew.autograd.gradgradcheck(attend, tensors)


def test_forward_mode_and_vmap_of_blocks(tiny_blocks):
    q, k, v, t = (clew.from_numpy(each) for each in arrays(*((2, 1, 2, 5, 3),) * 4))
    attend = partial(F.scaled_dot_product_attention, is_causal=True)
    for_each = clew.stack([attend(*each) for each in zip(q, k, v)])
    np.testing.assert_allclose(clew.func.vmap(attend)(q, k, v).numpy(), for_each.numpy(), 1e-12)
    _, tangent = clew.func.jvp(lambda q: attend(q, k[0], v[0]), (q[0],), (t[0],))
    step = 1e-6 * t[0]
    difference = attend(q[0] + step, k[0], v[0]) - attend(q[0] - step, k[0], v[0])
    np.testing.assert_allclose(tangent.numpy(), difference.numpy() / 2e-6, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_hidden_by_the_lowest_number_is_not_empty(dtype):
    """Such masks are common: all keys are then equally far away, and get equal weights."""
    tensors = arrays(*((1, 1, 3, 2), (1, 1, 4, 2), (1, 1, 4, 2)), dtype=dtype)
    mask = np.zeros((3, 4), dtype)
    mask[1] = np.finfo(dtype).min
    mask[2] = -np.inf
    ours, theirs = (
        ATTEND[lib](*map(lib.from_numpy, tensors), lib.from_numpy(mask)).numpy()
        for lib in (clew, torch)
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    np.testing.assert_allclose(ours[0, 0, 1], tensors[2][0, 0].mean(0), rtol=1e-6)


@pytest.mark.parametrize("turned", [False, True])
def test_results_lie_in_memory_as_pytorchs_do(turned):
    def strides(lib):
        q, k, v = (lib.zeros(2, 3, 5, 4, requires_grad=True) for _ in range(3))
        inputs = [each.transpose(1, 2) for each in (q, k, v)] if turned else [q, k, v]
        out = ATTEND[lib](*inputs)
        grads = lib.autograd.grad(out.sum(), inputs)
        return [each.stride() for each in (out, *grads)]

    assert strides(clew) == strides(torch)


LENGTH = 4096
MEMORY_CASES = {
    "plain": (4, {}),
    "causal": (4, {"is_causal": True}),
    "dropout": (4, {"dropout_p": 0.1}),
    "three dimensions": (3, {}),
    "numbers for a row": (4, {"mask": (1, LENGTH)}),
    "gqa": (4, {"enable_gqa": True}),
}


@pytest.mark.parametrize("name", MEMORY_CASES)
def test_the_matrix_of_scores_is_never_held(name):
    dims, options = MEMORY_CASES[name]
    shape = (1, 1, LENGTH, 8)[4 - dims :]
    q, k, v = (clew.zeros(shape, requires_grad=True) for _ in range(3))
    mask = clew.zeros(options["mask"]) if "mask" in options else None
    options = {key: value for key, value in options.items() if key != "mask"}
    gc.collect()
    tracemalloc.start()
    try:
        out = F.scaled_dot_product_attention(q, k, v, mask, **options)
        out.sum().backward()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < LENGTH * LENGTH * 4 / 4
    np.testing.assert_allclose(v.grad.numpy().sum(), LENGTH * 8, rtol=0.05)


@twice
def test_causal_biases(m: Any) -> Any:
    bias, attend = m.nn.attention.bias, m.nn.functional.scaled_dot_product_attention
    seen: list[Any] = []
    for queries, keys in ((4, 4), (3, 5), (5, 3)):
        q, k, v = (m.randn(2, 2, n, 8) for n in (queries, keys, keys))
        for make in (bias.causal_upper_left, bias.causal_lower_right):
            mask = make(queries, keys)
            seen += [repr(mask), mask._materialize("cpu"), int(mask.variant), mask.seq_len_kv]
            seen.append(attend(q, k, v, attn_mask=mask))
            seen.append(raised(attend, q, k, v, attn_mask=mask, is_causal=True))
    seen.append(raised(bias.causal_upper_left, 2, 3, 4))
    return seen
