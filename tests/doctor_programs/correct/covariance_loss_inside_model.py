# expect: nothing
import torch
from torch import nn


class Redundancy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16))

    def forward(self, a, b):
        za, zb = self.net(a), self.net(b)
        za = (za - za.mean(0)) / (za.std(0) + 1e-4)
        zb = (zb - zb.mean(0)) / (zb.std(0) + 1e-4)
        c = za.t() @ zb / len(za)
        off = c - torch.diag(torch.diagonal(c))
        return (torch.diagonal(c) - 1).pow(2).sum() + 0.05 * off.pow(2).sum()


torch.manual_seed(4)
x = torch.randn(256, 8)
model = Redundancy()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(24):
    rows = torch.randint(0, 256, (48,))
    a = x[rows] + 0.1 * torch.randn(48, 8)
    b = x[rows] + 0.1 * torch.randn(48, 8)
    loss = model(a, b)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
