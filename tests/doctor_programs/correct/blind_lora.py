# expect: nothing
# LoRA: the base weight is frozen, B starts at zero, only A and B are trained.

import torch
from torch import nn


class LoRA(nn.Module):
    def __init__(self, base, r=2):
        super().__init__()
        self.base = base
        for p in base.parameters():
            p.requires_grad = False
        self.A = nn.Parameter(torch.randn(r, base.in_features) * 0.1)
        self.B = nn.Parameter(torch.zeros(base.out_features, r))

    def forward(self, x):
        return self.base(x) + x @ self.A.T @ self.B.T


torch.manual_seed(0)
net = nn.Sequential(LoRA(nn.Linear(6, 16)), nn.ReLU(), LoRA(nn.Linear(16, 3)))
opt = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], 1e-2)
x = torch.randn(64, 6)
y = x[:, :3].argmax(1)
for _ in range(30):
    opt.zero_grad()
    l = nn.functional.cross_entropy(net(x), y)
    l.backward()
    opt.step()
print(l.item(), sum(p.numel() for p in net.parameters() if p.requires_grad))
