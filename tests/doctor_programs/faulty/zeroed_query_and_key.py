# expect: bad-init line 17, 18
# Query and key projections both start at zero, each one's gradient is a product with the other.

import math

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q = nn.Linear(dim, dim, bias=False)
        self.k = nn.Linear(dim, dim, bias=False)
        self.v = nn.Linear(dim, dim)
        nn.init.zeros_(self.q.weight)
        nn.init.zeros_(self.k.weight)

    def forward(self, x):
        scores = self.q(x) @ self.k(x).transpose(1, 2) / math.sqrt(x.size(-1))
        return F.softmax(scores, dim=-1) @ self.v(x)


torch.manual_seed(1106)
attention, head = Attention(8), nn.Linear(8, 2)
optimizer = torch.optim.Adam([*attention.parameters(), *head.parameters()], lr=1e-2)
x = torch.randn(80, 5, 8)
y = (x[:, 0, 0] > 0).long()
for epoch in range(12):
    loss = F.cross_entropy(head(attention(x)[:, 0]), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 4 == 0:
        print(epoch, loss.item())
