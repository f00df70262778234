# expect: graph-leak line 14
# The hardest batches of the run are kept in a list together with their loss tensors.

import torch
import torch.nn.functional as F
from torch import nn


class HardBatches:
    def __init__(self):
        self.items = []

    def add(self, index, loss):
        self.items.append((loss, index))

    def worst(self):
        return max(self.items, key=lambda item: item[0].item())[1]


torch.manual_seed(909)
x = torch.randn(400, 6)
y = x[:, :2].argmax(1)
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
hard = HardBatches()
for epoch in range(4):
    for i, (xb, yb) in enumerate(zip(x.split(20), y.split(20))):
        loss = F.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        hard.add(i, loss)
    print(epoch, loss.item(), "worst batch", hard.worst())
