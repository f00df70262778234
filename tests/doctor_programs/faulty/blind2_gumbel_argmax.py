# expect: detached-graph line 17

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class MoE(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(6, 3)
        self.experts = nn.ModuleList([nn.Linear(6, 1) for _ in range(3)])

    def forward(self, x):
        top = self.gate(x).argmax(-1)
        onehot = F.one_hot(top, 3).float()
        outs = torch.cat([e(x) for e in self.experts], 1)
        return (outs * onehot).sum(1)


m = MoE()
opt = torch.optim.Adam(m.parameters(), lr=1e-2)
for i in range(30):
    x = torch.randn(32, 6)
    y = x[:, 0].abs()
    loss = F.mse_loss(m(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
