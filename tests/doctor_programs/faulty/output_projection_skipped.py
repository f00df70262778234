# expect: param-unused line 13, 20
# The attention returns the concatenated heads without applying its output projection.

import torch
from torch import nn


class MultiHead(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        weights = torch.softmax(q @ k.transpose(-2, -1) / (d // self.heads) ** 0.5, dim=-1)
        out = (weights @ v).transpose(1, 2).reshape(b, t, d)
        return out


class TinyTransformer(nn.Module):
    def __init__(self, vocab=9, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.attend = MultiHead(dim, 4)
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, vocab)

    def forward(self, idx):
        h = self.embed(idx)
        return self.out(self.norm(h + self.attend(h)))


torch.manual_seed(55)
model = TinyTransformer()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(25):
    idx = torch.randint(0, 9, (16, 6))
    target = idx.cumsum(1).remainder(9)
    loss = nn.functional.cross_entropy(model(idx).transpose(1, 2), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 8 == 0:
        print(step, loss.item())
