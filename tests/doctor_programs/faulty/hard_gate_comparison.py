# expect: detached-graph line 17
# The gate network's score is turned into a 0/1 mask by a comparison, which has no gradient.

import torch
from torch import nn


class GatedMLP(nn.Module):
    def __init__(self, n_in=8, n_hidden=24):
        super().__init__()
        self.gate = nn.Linear(n_in, n_hidden)
        self.value = nn.Linear(n_in, n_hidden)
        self.out = nn.Linear(n_hidden, 1)

    def forward(self, x):
        score = torch.sigmoid(self.gate(x))
        mask = (score > 0.5).float()
        return self.out(mask * self.value(x))


torch.manual_seed(36)
x = torch.randn(100, 8)
y = x.clamp(min=0).sum(dim=1, keepdim=True)
model = GatedMLP()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for it in range(30):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 10 == 0:
        print(it, loss.item())
