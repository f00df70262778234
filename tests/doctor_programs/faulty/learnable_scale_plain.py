# expect: param-not-in-optimizer line 16, 23

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(64, 8)
y = x[:, :1] * 2 - x[:, 1:2]


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 1)
        self.scale = torch.ones(1, requires_grad=True)

    def forward(self, x):
        return self.scale * self.fc(x)


net = M()
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for i in range(15):
    loss = F.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
