# expect: batch-mixing line 15

import torch
from torch import nn
import torch.nn.functional as F


class MoE(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(4, 3)
        self.ex = nn.ModuleList([nn.Linear(4, 1) for _ in range(3)])

    def forward(self, x):
        g = F.softmax(self.gate(x), dim=0)
        o = torch.cat([e(x) for e in self.ex], 1)
        return (g * o).sum(1, keepdim=True)


torch.manual_seed(0)
net = MoE()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for i in range(80):
    x = torch.randn(32, 4)
    y = torch.where(x[:, :1] > 0, x[:, 1:2], -x[:, 2:3])
    loss = F.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
