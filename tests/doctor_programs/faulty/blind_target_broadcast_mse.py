# expect: loss-broadcast line 31
# A regression on (N, 1) outputs with (N,) targets from a DataFrame-like column.

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Houses(Dataset):
    def __init__(self, n):
        g = np.random.default_rng(0)
        self.x = g.normal(size=(n, 6)).astype("float32")
        self.y = self.x.sum(1) + 0.1 * g.normal(size=n).astype("float32")

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 1))
opt = torch.optim.Adam(net.parameters(), 5e-3)
mse = nn.MSELoss()
for epoch in range(5):
    for xb, yb in DataLoader(Houses(96), batch_size=24, shuffle=True):
        opt.zero_grad()
        pred = net(xb)
        loss = mse(pred, yb)
        loss.backward()
        opt.step()
print(loss.item())
