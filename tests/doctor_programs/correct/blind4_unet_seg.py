# expect: nothing

import torch
from torch import nn
import torch.nn.functional as F


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.d1 = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.d2 = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU())
        self.u1 = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.c = nn.Conv2d(16, 8, 3, padding=1)
        self.o = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        u = torch.cat([self.u1(b), a], 1)
        return self.o(F.relu(self.c(u)))


def dice(lg, m):
    p = torch.sigmoid(lg)
    i = (p * m).sum((1, 2, 3))
    return 1 - ((2 * i + 1) / (p.sum((1, 2, 3)) + m.sum((1, 2, 3)) + 1)).mean()


torch.manual_seed(0)
net = UNet()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
g = torch.arange(12.0)
for it in range(30):
    c = torch.rand(8, 2) * 12
    m = (
        (((g[None, :, None] - c[:, :1, None]) ** 2 + (g[None, None] - c[:, 1:, None]) ** 2) < 9)
        .float()
        .unsqueeze(1)
    )
    x = m + 0.3 * torch.randn_like(m)
    lg = net(x)
    loss = F.binary_cross_entropy_with_logits(lg, m) + dice(lg, m)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 10 == 0:
        print(it, loss.item())
