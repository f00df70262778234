# expect: inplace-saved-tensor line 19
# The attention weights are masked in place after softmax saved them for its backward.
# saved: line 18

import torch
import torch.nn.functional as F
from torch import nn


class PooledAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.query = nn.Parameter(torch.randn(dim) * 0.1)
        self.key = nn.Linear(dim, dim)

    def forward(self, x, padding):
        scores = self.key(x) @ self.query
        weights = F.softmax(scores, dim=1)
        weights.masked_fill_(padding, 0.0)
        return (weights.unsqueeze(-1) * x).sum(dim=1)


class Reader(nn.Module):
    def __init__(self, vocab=20, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.pool = PooledAttention(dim)
        self.out = nn.Linear(dim, 2)

    def forward(self, tokens):
        return self.out(self.pool(self.embed(tokens), tokens == 0))


torch.manual_seed(69)
tokens = torch.randint(1, 20, (40, 7))
tokens[:, 5:][torch.rand(40, 2) > 0.5] = 0
labels = (tokens[:, 0] > 10).long()
model = Reader()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(10):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(tokens), labels)
    loss.backward()
    optimizer.step()
    print(step, loss.item())
