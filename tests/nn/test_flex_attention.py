"""flex_attention: score functions, block masks, gradients, grouped heads, errors."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import clew
from tests.twice import leaf, raised, twice


def flex(lib: Any) -> Any:
    # PyTorch warns that it is not compiled.
    warnings.simplefilter("ignore")
    return importlib.import_module(f"{lib.__name__}.nn.attention.flex_attention")


def qkv(lib: Any, heads: int = 2, length: int = 12, key_heads: int | None = None) -> list[Any]:
    """Queries, keys and values that gradients are wanted for."""
    shapes = [(2, each, length, 4) for each in (heads, key_heads or heads, key_heads or heads)]
    made = [lib.randn(shape, dtype=lib.float64) for shape in shapes]
    return [leaf(lib, each.tolist()) for each in made]


@twice
def test_a_function_of_scores(lib: Any) -> Any:
    q, k, v = (each.detach() for each in qkv(lib))
    return flex(lib).flex_attention(
        q, k, v, lambda s, b, h, i, j: lib.where(i >= j, s + 0.1 * h - 0.2 * (i - j), -lib.inf),
        return_lse=True,
    )  # fmt: skip


def test_gradients_also_of_tensors_that_the_function_uses() -> None:
    """PyTorch has none on the CPU, so they are compared with those of the formula."""
    bias = clew.zeros(2, 12, dtype=clew.float64, requires_grad=True)
    q, k, v = qkv(clew)
    leaves = (bias, q, k, v)
    out = flex(clew).flex_attention(q, k, v, lambda s, b, h, i, j: s + bias[h, j])
    found = clew.autograd.grad(out.sin().sum(), leaves)
    by_formula = (q @ k.mT / 2 + bias[:, None]).softmax(-1) @ v
    expected = clew.autograd.grad(by_formula.sin().sum(), leaves)
    assert all(clew.allclose(one, other) for one, other in zip(found, expected, strict=True))


@twice
def test_block_masks(lib: Any) -> Any:
    f = flex(lib)
    seen = []
    for function, batch, heads, size, block in (
        (lambda b, h, q, k: q >= k, None, None, (256, 256), 128),
        (lambda b, h, q, k: (q - k).abs() < 40, 2, 1, (200, 300), 64),
        (lambda b, h, q, k: (q // 64 == b) | (k < 10 * h + 1), 2, 2, (256, 384), (128, 64)),
        (f.noop_mask, 1, 1, (100, 100), 128),
        (f.or_masks(lambda b, h, q, k: q == k, lambda b, h, q, k: k < 8), 1, 2, (96, 96), 32),
        (f.and_masks(lambda b, h, q, k: q >= k, lambda b, h, q, k: q - k < 9), 1, 1, (96, 96), 32),
    ):
        mask = f.create_block_mask(function, batch, heads, *size, device="cpu", BLOCK_SIZE=block)
        seen.append(
            [
                mask.shape, mask.sparsity(), mask.to_dense(), mask.kv_num_blocks, mask.kv_indices,
                mask.full_kv_num_blocks, mask.q_num_blocks, mask.q_indices, mask.BLOCK_SIZE,
                str(mask),
            ]
        )  # fmt: skip
    return seen


@twice
def test_attention_with_a_block_mask(lib: Any) -> Any:
    f = flex(lib)
    q, k, v = (each.detach() for each in qkv(lib, heads=4, length=20, key_heads=2))
    document = lib.tensor([0] * 7 + [1] * 13)

    def same_document(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return (document[q_idx] == document[kv_idx]) & (q_idx >= kv_idx)

    mask = f.create_block_mask(same_document, None, None, 20, 20, device="cpu", BLOCK_SIZE=8)
    out = f.flex_attention(q, k, v, block_mask=mask, enable_gqa=True, scale=0.3)
    return [out, f.create_mask(same_document, 1, 1, 20, 20, device="cpu")]


@twice
def test_a_query_that_attends_to_nothing(lib: Any) -> Any:
    q, k, v = (each.detach() for each in qkv(lib))
    return flex(lib).flex_attention(
        q, k, v, lambda s, b, h, i, j: lib.where(i > 2, s, -lib.inf), return_lse=True
    )


@twice
def test_wrong_arguments(lib: Any) -> Any:
    f = flex(lib)
    q, k, v = (each.detach() for each in qkv(lib))
    mask = f.create_block_mask(lambda b, h, q, k: q >= k, 1, 1, 128, 128, device="cpu")
    return [
        raised(lambda: f.flex_attention(q[0], k, v)),
        raised(lambda: f.flex_attention(q, k[:, :1], v[:, :1]), words=14),
        raised(lambda: f.flex_attention(q, k[..., :2], v), words=12),
        raised(lambda: f.flex_attention(q, k, v, block_mask=mask), words=10),
        raised(lambda: f.create_mask(lambda a: a, 1, 1, 2, 2, device="cpu")),
    ]
