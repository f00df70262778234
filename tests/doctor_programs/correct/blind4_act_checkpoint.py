# expect: nothing

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(8, 32)
        self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(32, 32), nn.ReLU()) for _ in range(3)])
        self.out = nn.Linear(32, 1)

    def forward(self, x):
        x = self.inp(x)
        for b in self.blocks:
            x = x + checkpoint(b, x, use_reentrant=False)
        return self.out(x)


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for i in range(60):
    x = torch.randn(32, 8)
    loss = nn.functional.mse_loss(net(x), x[:, :1] * 2)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 20 == 0:
        print(i, loss.item())
