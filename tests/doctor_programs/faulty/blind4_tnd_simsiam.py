# expect: target-not-detached line 15, 17, 22, 33

import torch
from torch import nn
import torch.nn.functional as F


class SimSiam(nn.Module):
    def __init__(self, d=16, p=16):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, p))
        self.pred = nn.Sequential(nn.Linear(p, 8), nn.ReLU(), nn.Linear(8, p))

    def forward(self, x1, x2):
        z1, z2 = self.enc(x1), self.enc(x2)
        p1, p2 = self.pred(z1), self.pred(z2)
        return p1, p2, z1, z2


def D(p, z):
    # negative cosine similarity; z is the (stop-gradient) target
    return -F.cosine_similarity(p, z, dim=-1).mean()


torch.manual_seed(0)
net = SimSiam()
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
centers = torch.randn(8, 16) * 2
for step in range(60):
    x = centers[torch.randint(0, 8, (32,))]
    x1, x2 = x + 0.3 * torch.randn_like(x), x + 0.3 * torch.randn_like(x)
    p1, p2, z1, z2 = net(x1, x2)
    loss = 0.5 * D(p1, z2) + 0.5 * D(p2, z1)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item())
