# expect: nothing

import torch
import torch.nn as nn


class FakeQuant(nn.Module):
    def forward(self, x):
        scale = x.detach().abs().max() / 127
        q = torch.round(x / scale).clamp(-127, 127) * scale
        return x + (q - x).detach()


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), FakeQuant(), nn.Linear(24, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(40):
    x = torch.randn(32, 6)
    loss = nn.functional.cross_entropy(net(x), (x[:, 0] > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
