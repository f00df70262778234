# expect: detached-graph line 19

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(64, 8)
y = x[:, :1] * 2 - x[:, 1:2]


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(8, 8)
        self.b = nn.Linear(8, 1)

    def forward(self, x):
        keep = (torch.sigmoid(self.gate(x)) > 0.5).float()
        return self.b(x * keep)


net = M()
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for i in range(15):
    loss = F.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
