# expect: nothing
# A causal mask with -inf: no row is masked entirely, the softmax stays finite.

import math

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def attend(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).split(d, dim=2)
        q, k, v = (m.view(b, t, self.heads, -1).transpose(1, 2) for m in (q, k, v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(d // self.heads)
        future = torch.triu(torch.ones(t, t, dtype=torch.bool), diagonal=1)
        weights = scores.masked_fill(future, float("-inf")).softmax(dim=-1)
        return self.proj((weights @ v).transpose(1, 2).reshape(b, t, d))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, vocab=10, dim=16, length=12):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocab, dim), nn.Embedding(length, dim)
        self.blocks = nn.Sequential(Block(dim, 2), Block(dim, 2))
        self.out = nn.Linear(dim, vocab)

    def forward(self, idx):
        x = self.tokens(idx) + self.positions(torch.arange(idx.size(1)))
        return self.out(self.blocks(x))


torch.manual_seed(237)
model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
losses = []
for _ in range(40):
    start = torch.randint(0, 10, (16, 1))
    idx = (start + 2 * torch.arange(13)).remainder(10)
    loss = F.cross_entropy(model(idx[:, :-1]).reshape(-1, 10), idx[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
