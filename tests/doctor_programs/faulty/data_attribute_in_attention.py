# expect: detached-graph line 20
# The keys are taken through .data, so the key projection of the attention never trains.

import math

import torch
from torch import nn


class SingleHeadAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q = nn.Linear(dim, dim)
        self.k = nn.Linear(dim, dim)
        self.v = nn.Linear(dim, dim)
        self.dim = dim

    def forward(self, x):
        q, v = self.q(x), self.v(x)
        k = self.k(x).data
        weights = torch.softmax(q @ k.transpose(1, 2) / math.sqrt(self.dim), dim=-1)
        return weights @ v


class Tagger(nn.Module):
    def __init__(self, vocab=16, dim=16, tags=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.attention = SingleHeadAttention(dim)
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, tags)

    def forward(self, tokens):
        h = self.embed(tokens)
        return self.out(self.norm(h + self.attention(h)))


torch.manual_seed(41)
tagger = Tagger()
optimizer = torch.optim.Adam(tagger.parameters(), lr=5e-3)
tokens = torch.randint(0, 16, (32, 8))
tags = (tokens + tokens.roll(1, dims=1)).remainder(4)
for step in range(20):
    logits = tagger(tokens)
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), tags.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        print("step", step, "loss", loss.item())
