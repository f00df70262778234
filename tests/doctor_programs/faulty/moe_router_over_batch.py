# expect: batch-mixing line 16
# The router of a mixture of experts normalises over the batch.

import torch
import torch.nn as nn
import torch.nn.functional as F


class MoE(nn.Module):
    def __init__(self, d=6, n=4):
        super().__init__()
        self.router = nn.Linear(d, n)
        self.experts = nn.ModuleList(nn.Linear(d, d) for _ in range(n))

    def forward(self, x):
        gate = F.softmax(self.router(x), 0)
        ys = torch.stack([e(x) for e in self.experts], dim=1)
        return (gate.unsqueeze(-1) * ys).sum(1)


torch.manual_seed(0)
moe = MoE()
opt = torch.optim.AdamW(moe.parameters(), lr=1e-2)
for i in range(20):
    x = torch.randn(24, 6)
    loss = F.mse_loss(moe(x), x.roll(1, dims=1))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
