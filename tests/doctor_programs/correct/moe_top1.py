# expect: nothing
# Top-1 mixture of experts: some experts get no token in a step.

import torch
from torch import nn


class Moe(nn.Module):
    def __init__(self, d=6, n=4):
        super().__init__()
        self.gate = nn.Linear(d, n)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(d, 12), nn.ReLU(), nn.Linear(12, d)) for _ in range(n)
        )

    def forward(self, x):
        p = self.gate(x).softmax(-1)
        top, idx = p.max(-1)
        out = torch.zeros_like(x)
        for k, expert in enumerate(self.experts):
            rows = (idx == k).nonzero().squeeze(-1)
            if len(rows):
                out = out.index_add(0, rows, top[rows, None] * expert(x[rows]))
        load = torch.nn.functional.one_hot(idx, len(self.experts)).float().mean(0)
        return out, len(self.experts) * (load * p.mean(0)).sum()


torch.manual_seed(0)
moe = Moe()
opt = torch.optim.Adam(moe.parameters(), lr=2e-3)
for i in range(30):
    x = torch.randn(32, 6)
    y, aux = moe(x)
    loss = nn.functional.mse_loss(y, x.abs()) + 0.01 * aux
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
