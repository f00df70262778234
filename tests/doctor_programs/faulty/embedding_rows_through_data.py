# expect: detached-graph line 16, 17
# The entity vectors are indexed out of weight.data, so the table never learns.

import torch
import torch.nn.functional as F
from torch import nn


class TransE(nn.Module):
    def __init__(self, entities=30, relations=4, dim=10):
        super().__init__()
        self.entity = nn.Embedding(entities, dim)
        self.relation = nn.Embedding(relations, dim)

    def score(self, h, r, t):
        head = self.entity.weight.data[h]
        tail = self.entity.weight.data[t]
        return (head + self.relation(r) - tail).norm(p=1, dim=1)


torch.manual_seed(308)
model = TransE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
h = torch.randint(0, 30, (120,))
r = torch.randint(0, 4, (120,))
t = (h + 3 * r + 1).remainder(30)
for epoch in range(10):
    corrupted = torch.randint(0, 30, (120,))
    loss = F.relu(1.0 + model.score(h, r, t) - model.score(h, r, corrupted)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 3 == 0:
        print(epoch, loss.item())
