# expect: param-not-in-optimizer line 11, 23

import torch
from torch import nn


class ResMLP(nn.Module):
    def __init__(self, d, depth):
        super().__init__()
        self.inp = nn.Linear(d, 32)
        self.blocks = [nn.Linear(32, 32) for _ in range(depth)]
        self.out = nn.Linear(32, 1)

    def forward(self, x):
        x = torch.relu(self.inp(x))
        for b in self.blocks:
            x = x + torch.relu(b(x))
        return self.out(x)


torch.manual_seed(0)
net = ResMLP(6, 3)
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
X = torch.randn(200, 6)
y = (X[:, :2].prod(1)).unsqueeze(1)
for ep in range(40):
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(X), y)
    loss.backward()
    opt.step()
    if ep % 10 == 0:
        print(ep, loss.item())
