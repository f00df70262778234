"""`_foreach_*_` written by kernels: the same as one operation after the other."""

from typing import Any

import numpy as np
import pytest
import torch

import clew
from tests.twice import raised, twice

CALLS = {
    "add": ("add_", 1, {}), "add scaled": ("add_", 1, {"alpha": -0.5}), "sub": ("sub_", 1, {}),
    "sub scaled": ("sub_", 1, {"alpha": 3}), "addcmul": ("addcmul_", 2, {"value": 0.3}),
    "addcdiv": ("addcdiv_", 2, {"value": -0.3}), "lerp": ("lerp_", 1, {"weight": 0.2}),
    "lerp from the end": ("lerp_", 1, {"weight": 0.9}),
    "lerp to the end": ("lerp_", 1, {"weight": 1}),
}  # fmt: skip
SHAPES = [(3,), (2, 5), (), (0, 4), (40, 700)]


def lists(lib, count, dtype):
    rng = np.random.default_rng(2)
    return [
        [lib.from_numpy(rng.standard_normal(shape).astype(dtype)) for shape in SHAPES]
        for _ in range(count)
    ]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("call", CALLS)
def test_kernels_agree_with_pytorch(call, dtype):
    name, count, named = CALLS[call]

    def changed(lib):
        targets, *others = lists(lib, 1 + count, dtype)
        getattr(lib, f"_foreach_{name}")(targets, *others, **named)
        return targets

    tolerance = 1e-6 if dtype is np.float32 else 1e-14
    for ours, theirs in zip(changed(clew), changed(torch)):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=tolerance, atol=tolerance)


def test_what_needs_a_history_gets_one():
    def gradient(lib):
        leaf = lib.arange(3.0, requires_grad=True)
        target = leaf * 2
        lib._foreach_lerp_([target], [lib.ones(3)], 0.25)
        target.sum().backward()
        return leaf.grad.tolist()

    assert gradient(clew) == gradient(torch) == [1.5] * 3


def test_a_write_is_noticed_by_backward():
    x = clew.ones(3, requires_grad=True)
    weight = clew.ones(3)
    loss = (x * weight).sum()
    clew._foreach_add_([weight], [clew.ones(3)])
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_a_leaf_is_not_written_to():
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        clew._foreach_add_([clew.ones(3, requires_grad=True)], [clew.ones(3)])


@pytest.mark.parametrize("bound", [0.5, -0.5, float("inf"), float("nan")])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_clip_grad_value_agrees_with_pytorch(dtype, bound):
    def clipped(lib):
        leaf = lib.zeros(5, dtype=getattr(lib, dtype), requires_grad=True)
        leaf.grad = lib.tensor([-2.0, 0.25, 3.0, float("nan"), -float("inf")]).to(leaf.dtype)
        lib.nn.utils.clip_grad_value_([leaf], bound)
        return leaf.grad.float().numpy()

    np.testing.assert_array_equal(clipped(clew), clipped(torch))


@twice
def test_packed_scalars_lie_one_after_the_other(lib: Any) -> Any:
    tensors, scalars = [lib.ones(2)] * 2, lib.tensor([[0.0, 1.0], [2.0, 3.0]])
    return (
        lib._foreach_addcmul(tensors, tensors, tensors, scalars[0]),
        raised(lib._foreach_addcmul, tensors, tensors, tensors, scalars[:, 1]),
    )
