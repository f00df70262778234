# expect: detached-graph line 21
# Per-task losses are rebuilt with torch.tensor(..., requires_grad=True): nothing is connected.

import torch
from torch import nn

torch.manual_seed(32)
shared = nn.Sequential(nn.Linear(6, 24), nn.Tanh())
heads = nn.ModuleList([nn.Linear(24, 1) for _ in range(3)])
params = list(shared.parameters()) + list(heads.parameters())
optimizer = torch.optim.Adam(params, lr=0.01)
criterion = nn.MSELoss()

x = torch.randn(80, 6)
targets = [x.sum(1, keepdim=True), x[:, :1] * x[:, 1:2], x.abs().mean(1, keepdim=True)]

for epoch in range(20):
    optimizer.zero_grad()
    h = shared(x)
    losses = [criterion(head(h), target) for head, target in zip(heads, targets)]
    total = torch.tensor([loss.item() for loss in losses], requires_grad=True).mean()
    total.backward()
    optimizer.step()
    if epoch % 5 == 0:
        print(epoch, total.item())
