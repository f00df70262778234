# expect: nan-origin line 12
# E[x^2] - E[x]^2 rounds below zero for nearly constant rows and sqrt gives NaN.

import torch
from torch import nn


class RowNorm(nn.Module):
    def forward(self, x):
        mean = x.mean(dim=1, keepdim=True)
        var = (x**2).mean(dim=1, keepdim=True) - mean**2
        return (x - mean) / (torch.sqrt(var) + 1e-3)


torch.manual_seed(611)
x = torch.randn(64, 6)
x[40:] = 1000.0 + torch.rand(24, 1) + 1e-3 * torch.randn(24, 6)
y = (torch.arange(64) % 2).long()
model = nn.Sequential(RowNorm(), nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    for xb, yb in zip(x.split(16), y.split(16)):
        loss = nn.functional.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(epoch, loss.item())
