# expect: nothing

import torch
from torch import nn


class LoRA(nn.Module):
    def __init__(self, base, r=4, alpha=8):
        super().__init__()
        self.base = base
        for p in base.parameters():
            p.requires_grad_(False)
        self.A = nn.Parameter(torch.randn(r, base.in_features) * 0.02)
        self.B = nn.Parameter(torch.zeros(base.out_features, r))
        self.s = alpha / r

    def forward(self, x):
        return self.base(x) + self.s * (x @ self.A.t()) @ self.B.t()


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
X = torch.randn(256, 8)
y = X[:, :3].argmax(1)
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for _ in range(40):
    opt.zero_grad()
    nn.functional.cross_entropy(net(X), y).backward()
    opt.step()
net[0], net[2] = LoRA(net[0]), LoRA(net[2])
y2 = X[:, 3:6].argmax(1)
opt = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=1e-2)
for ep in range(80):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(X), y2)
    loss.backward()
    opt.step()
    if ep % 20 == 0:
        print(ep, loss.item())
