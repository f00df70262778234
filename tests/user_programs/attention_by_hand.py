"""Scaled dot-product attention three ways, with masks, and their gradients."""

import math


def main(torch):
    F = torch.nn.functional
    torch.manual_seed(0)
    B, H, T, D = 2, 3, 5, 4
    q, k, v = (torch.randn(B, H, T, D, requires_grad=True) for _ in range(3))

    mask = torch.tril(torch.ones(T, T)).view(1, 1, T, T)
    att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
    att = att.masked_fill(mask[:, :, :T, :T] == 0, float("-inf"))
    att = F.softmax(att, dim=-1)
    y = att @ v
    by_hand = torch.autograd.grad(y.square().sum(), (q, k, v))

    y2 = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    fused = torch.autograd.grad(y2.square().sum(), (q, k, v))

    scores = torch.einsum("bhid,bhjd->bhij", q, k) / D**0.5
    bias = torch.zeros(T, T).masked_fill(torch.ones(T, T, dtype=torch.bool).triu(1), -torch.inf)
    y3 = torch.einsum("bhij,bhjd->bhid", (scores + bias).softmax(-1), v)

    padding = torch.tensor([[True, True, True, False, False], [True] * 5])
    y4 = F.scaled_dot_product_attention(q, k, v, attn_mask=padding[:, None, None, :])
    alibi = -torch.abs(torch.arange(T)[None, :] - torch.arange(T)[:, None]).float()
    slopes = torch.tensor([2.0 ** -(i + 1) for i in range(H)])
    y5 = F.scaled_dot_product_attention(q, k, v, attn_mask=alibi * slopes[:, None, None], scale=0.3)

    # Grouped-query: one key head for all query heads.
    y6 = F.scaled_dot_product_attention(q, k[:, :1].expand(-1, H, -1, -1), v[:, :1].expand_as(v))

    # Rotary positions by complex numbers and by halves.
    freqs = 1.0 / (100 ** (torch.arange(0, D, 2)[: D // 2].float() / D))
    angle = torch.outer(torch.arange(T), freqs)
    cis = torch.polar(torch.ones_like(angle), angle)
    as_complex = torch.view_as_complex(q.float().reshape(B, H, T, -1, 2))
    rotated = torch.view_as_real(as_complex * cis).flatten(3)
    even, odd = q[..., ::2], q[..., 1::2]
    rotated2 = torch.stack(
        (even * angle.cos() - odd * angle.sin(), even * angle.sin() + odd * angle.cos()), -1
    ).flatten(-2)
    close = [
        torch.allclose(y, y2, atol=1e-6),
        torch.allclose(y, y3, atol=1e-6),
        torch.allclose(rotated, rotated2, atol=1e-6),
    ]
    return {
        "y": y,
        "y2": y2,
        "y4": y4,
        "y5": y5,
        "y6": y6,
        "rotated": rotated,
        "close": close,
        "by_hand": by_hand,
        "fused": fused,
        "rotary_grad": torch.autograd.grad(rotated.cos().sum(), q)[0],
    }
