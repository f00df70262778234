# expect: detached-graph line 18
# Learned positions are turned into cell numbers by .long(), the offsets never learn.

import torch
from torch import nn


class LearnedGrid(nn.Module):
    def __init__(self, cells=16):
        super().__init__()
        self.offset = nn.Linear(2, 1)
        self.table = nn.Embedding(cells, 8)
        self.out = nn.Linear(8, 1)
        self.cells = cells

    def forward(self, x):
        position = torch.sigmoid(self.offset(x)).squeeze(1) * (self.cells - 1)
        cell = position.long()
        return self.out(self.table(cell))


torch.manual_seed(1109)
x = torch.rand(120, 2) * 4 - 2
y = torch.sin(x.sum(dim=1, keepdim=True))
model = LearnedGrid()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(10):
    for xb, yb in zip(x.split(40), y.split(40)):
        loss = nn.functional.mse_loss(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 3 == 0:
        print(epoch, loss.item())
