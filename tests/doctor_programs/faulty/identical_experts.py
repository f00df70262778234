# expect: bad-init line 15
# All experts are copies of the first one, with uniform routing they stay identical.

import copy

import torch
from torch import nn


class Experts(nn.Module):
    def __init__(self, n=4):
        super().__init__()
        first = nn.Sequential(nn.Linear(5, 12), nn.ReLU(), nn.Linear(12, 1))
        for layer in (first[0], first[2]):
            nn.init.constant_(layer.weight, 0.05)
        self.experts = nn.ModuleList(copy.deepcopy(first) for _ in range(n))

    def forward(self, x):
        return torch.stack([expert(x) for expert in self.experts]).mean(dim=0)


torch.manual_seed(915)
model = Experts()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x = torch.randn(120, 5)
y = torch.relu(x[:, :1]) - torch.relu(x[:, 1:2])
for epoch in range(20):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 5 == 0:
        print(epoch, loss.item())
