# expect: detached-graph line 17
# Only the indices of topk are used, the router's scores never weight the experts.

import torch
import torch.nn.functional as F
from torch import nn


class SparseMoE(nn.Module):
    def __init__(self, dim=6, experts=4):
        super().__init__()
        self.router = nn.Linear(dim, experts)
        self.experts = nn.Parameter(torch.randn(experts, dim, dim) / dim**0.5)

    def forward(self, x):
        scores = F.softmax(self.router(x), dim=-1)
        chosen = scores.topk(2, dim=-1).indices
        weights = self.experts[chosen]
        return torch.einsum("bd,bkde->bke", x, weights).mean(dim=1)


torch.manual_seed(311)
moe, head = SparseMoE(), nn.Linear(6, 1)
optimizer = torch.optim.Adam([*moe.parameters(), *head.parameters()], lr=5e-3)
x = torch.randn(128, 6)
y = torch.where(x[:, :1] > 0, x[:, 1:2], -x[:, 2:3])
for epoch in range(10):
    for xb, yb in zip(x.split(32), y.split(32)):
        loss = F.mse_loss(head(moe(xb)), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 3 == 0:
        print(epoch, loss.item())
