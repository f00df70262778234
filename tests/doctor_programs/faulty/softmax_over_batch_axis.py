# expect: batch-mixing line 19
# The expert weights are normalised over dim 0, the batch, instead of over the experts.

import torch
import torch.nn.functional as F
from torch import nn


class MixtureOfExperts(nn.Module):
    def __init__(self, n_in=6, experts=4, hidden=16):
        super().__init__()
        self.router = nn.Linear(n_in, experts)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(n_in, hidden), nn.ReLU(), nn.Linear(hidden, 1))
            for _ in range(experts)
        )

    def forward(self, x):
        gates = F.softmax(self.router(x), dim=0)
        outputs = torch.cat([expert(x) for expert in self.experts], dim=1)
        return (gates * outputs).sum(dim=1, keepdim=True)


torch.manual_seed(170)
x = torch.randn(120, 6)
y = torch.where(x[:, :1] > 0, x[:, 1:2], -2 * x[:, 2:3])
model = MixtureOfExperts()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(10):
    for xb, yb in zip(x.split(30), y.split(30)):
        loss = F.mse_loss(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 3 == 0:
        print("epoch", epoch, "loss", loss.item())
