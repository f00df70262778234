# expect: non-scalar-backward line 26, 27, 29

import torch
import torch.nn.functional as F
from torch import nn


class Enc(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(10, 20)
        self.m, self.s = nn.Linear(20, 3), nn.Linear(20, 3)
        self.d = nn.Linear(3, 10)

    def forward(self, x):
        h = F.relu(self.a(x))
        m, s = self.m(h), self.s(h)
        return self.d(m + torch.randn_like(m) * (0.5 * s).exp()), m, s


net = Enc()
opt = torch.optim.Adam(net.parameters(), 1e-3)
for xb in torch.randn(160, 10).split(32):
    r, m, s = net(xb)
    rec = F.mse_loss(r, xb)
    kld = -0.5 * torch.sum(1 + s - m.pow(2) - s.exp(), dim=1)
    loss = rec + 0.1 * kld
    opt.zero_grad()
    loss.backward()
    opt.step()
