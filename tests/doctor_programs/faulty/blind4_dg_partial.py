# expect: detached-graph line 17

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.img = nn.Sequential(nn.Linear(8, 16), nn.ReLU())
        self.txt = nn.Sequential(nn.Linear(6, 16), nn.ReLU())
        self.out = nn.Linear(32, 2)

    def forward(self, a, b):
        fa = self.img(a)
        fb = self.txt(b)
        fused = torch.cat([fa, torch.tensor(fb.tolist())], dim=1)
        return self.out(fused)


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for i in range(60):
    a, b = torch.randn(32, 8), torch.randn(32, 6)
    loss = nn.functional.cross_entropy(net(a, b), (a[:, 0] + b[:, 0] > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
