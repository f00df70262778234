# expect: nothing

import torch
from torch import nn
import torch.nn.functional as F


class SimSiam(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(
            nn.Linear(12, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 16), nn.BatchNorm1d(16)
        )
        self.h = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 16))

    def forward(self, a, b):
        za, zb = self.f(a), self.f(b)
        return self.h(za), self.h(zb), za.detach(), zb.detach()


torch.manual_seed(0)
m = SimSiam()
opt = torch.optim.SGD(m.parameters(), lr=0.03, momentum=0.9, weight_decay=1e-4)
base = torch.randn(64, 12)
for s in range(60):
    x = base[torch.randint(0, 64, (32,))]
    pa, pb, za, zb = m(x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x))
    loss = -(F.cosine_similarity(pa, zb).mean() + F.cosine_similarity(pb, za).mean()) / 2
    opt.zero_grad()
    loss.backward()
    opt.step()
    if s % 20 == 0:
        print(s, loss.item())
