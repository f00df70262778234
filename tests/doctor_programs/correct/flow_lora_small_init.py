# expect: nothing

import torch
from torch import nn


class LoRA(nn.Module):
    def __init__(self, base, r=2):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = nn.Parameter(torch.randn(r, base.in_features) * 0.01)
        self.b = nn.Parameter(torch.zeros(base.out_features, r))

    def forward(self, x):
        return self.base(x) + x @ self.a.t() @ self.b.t()


torch.manual_seed(0)
net = nn.Sequential(LoRA(nn.Linear(6, 16)), nn.ReLU(), LoRA(nn.Linear(16, 1)))
opt = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=2e-2)
for i in range(60):
    x = torch.randn(8, 6)
    loss = (net(x) - x[:, :1]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
