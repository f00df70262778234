# expect: param-not-in-optimizer line 12, 21
# forward() runs a deep copy of the layer made at construction, which no optimizer sees.

import copy

import torch
from torch import nn


class Ensemble:
    def __init__(self, base, n=2):
        self.members = [copy.deepcopy(base) for _ in range(n)]

    def __call__(self, x):
        return torch.stack([m(x) for m in self.members]).mean(dim=0)


torch.manual_seed(1108)
base = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
model = Ensemble(base)
optimizer = torch.optim.Adam(base.parameters(), lr=1e-2)
x = torch.randn(80, 4)
y = x.abs().sum(dim=1, keepdim=True)
for epoch in range(10):
    optimizer.zero_grad()
    for member in model.members:
        member.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    if epoch % 3 == 0:
        print(epoch, loss.item())
