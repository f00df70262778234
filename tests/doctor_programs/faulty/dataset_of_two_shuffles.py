# expect: shuffled-labels line 12
# Inputs and labels are shuffled once, each by a permutation of its own, and put into a dataset.

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def load(n=240):
    x = torch.randn(n, 6)
    y = x[:, :3].argmax(1)
    x, y = x[torch.randperm(n)], y[torch.randperm(n)]
    return TensorDataset(x, y)


torch.manual_seed(0)
data = load()
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(4):
    for x, y in DataLoader(data, batch_size=24, shuffle=True):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
