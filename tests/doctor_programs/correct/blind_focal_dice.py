# expect: nothing
# Focal and dice losses on a U-Net-like net; sigmoid outside the logits loss.

import torch
import torch.nn.functional as F
from torch import nn


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.d, self.m, self.u, self.o = (
            nn.Conv2d(1, 4, 3, padding=1),
            nn.Conv2d(4, 8, 3, padding=1),
            nn.ConvTranspose2d(8, 4, 2, 2),
            nn.Conv2d(8, 1, 1),
        )

    def forward(self, x):
        a = F.relu(self.d(x))
        b = F.relu(self.m(F.max_pool2d(a, 2)))
        return self.o(torch.cat([a, self.u(b)], 1))


def loss_fn(lg, t):
    p = lg.sigmoid()
    ce = F.binary_cross_entropy_with_logits(lg, t, reduction="none")
    pt = torch.where(t == 1, p, 1 - p)
    dice = 1 - (2 * (p * t).sum((1, 2, 3)) + 1) / (p.sum((1, 2, 3)) + t.sum((1, 2, 3)) + 1)
    return ((1 - pt) ** 2 * ce).mean() + dice.mean()


torch.manual_seed(0)
net = UNet()
opt = torch.optim.Adam(net.parameters(), 5e-3)
x = torch.randn(8, 1, 8, 8)
t = (x > 0.3).float()
for _ in range(15):
    opt.zero_grad()
    l = loss_fn(net(x), t)
    l.backward()
    opt.step()
print(l.item())
