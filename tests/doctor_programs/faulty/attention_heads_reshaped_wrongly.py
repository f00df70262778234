# expect: batch-mixing line 20, 21, 22, 24
# Heads are split by a view over the batch axis, so samples exchange their tokens.

import torch
from torch import nn


class SelfAttention(nn.Module):
    """Expects (time, batch, dim), as nn.Transformer's default does."""

    def __init__(self, dim=12, heads=3):
        super().__init__()
        self.heads, self.head_dim = heads, dim // heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        t, b, d = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q = q.reshape(b * self.heads, t, self.head_dim)
        k = k.reshape(b * self.heads, t, self.head_dim)
        v = v.reshape(b * self.heads, t, self.head_dim)
        weights = torch.softmax(q @ k.transpose(1, 2) / self.head_dim**0.5, dim=-1)
        return self.out((weights @ v).reshape(t, b, d))


torch.manual_seed(172)
embed, attention, head = nn.Embedding(15, 12), SelfAttention(), nn.Linear(12, 15)
params = [p for m in (embed, attention, head) for p in m.parameters()]
optimizer = torch.optim.Adam(params, lr=5e-3)
for step in range(25):
    tokens = torch.randint(0, 15, (5, 16))
    target = tokens.flip(0)
    logits = head(attention(embed(tokens)))
    loss = nn.functional.cross_entropy(logits.reshape(-1, 15), target.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 8 == 0:
        print(step, loss.item())
