# expect: vanishing-gradient line 16, 19, 24

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(64, 8)
y = x[:, :1] * 2 - x[:, 1:2]


class Deep(nn.Module):
    def __init__(self, depth=12):
        super().__init__()
        self.inp = nn.Linear(8, 16)
        self.hidden = nn.ModuleList(nn.Linear(16, 16) for _ in range(depth))
        self.out = nn.Linear(16, 1)
        for h in self.hidden:
            nn.init.uniform_(h.weight, -0.05, 0.05)

    def forward(self, x):
        x = torch.relu(self.inp(x))
        for h in self.hidden:
            x = torch.relu(h(x))
        return self.out(x)


net = Deep()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(20):
    loss = F.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
