# expect: nothing

import torch
from torch import nn


class MoE(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        self.gate = nn.Linear(d, n)
        self.ex = nn.ModuleList(
            [nn.Sequential(nn.Linear(d, 16), nn.ReLU(), nn.Linear(16, 1)) for _ in range(n)]
        )

    def forward(self, x):
        g = torch.softmax(self.gate(x), dim=-1)
        o = torch.cat([e(x) for e in self.ex], 1)
        return (g * o).sum(1, keepdim=True), g


torch.manual_seed(0)
net = MoE(4, 3)
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for i in range(120):
    x = torch.randn(64, 4)
    y = torch.where(x[:, :1] > 0, x[:, 1:2], -2 * x[:, 2:3])
    p, g = net(x)
    balance = (g.mean(0) ** 2).sum()
    loss = nn.functional.mse_loss(p, y) + 0.01 * balance
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 30 == 0:
        print(i, loss.item())
