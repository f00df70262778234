# expect: batch-mixing line 25
from functools import partial
import torch
import torch.nn as nn
import torch.nn.functional as F

conv = partial(nn.Conv2d, kernel_size=3, padding=1)


class DoubleConv(nn.Sequential):
    def __init__(self, i, o):
        super().__init__(conv(i, o), nn.GroupNorm(2, o), nn.ReLU(), conv(o, o), nn.ReLU())


class UNet(nn.Module):
    def __init__(self, w=6):
        super().__init__()
        self.d1, self.d2 = DoubleConv(1, w), DoubleConv(w, 2 * w)
        self.u = nn.ConvTranspose2d(2 * w, w, 2, stride=2)
        self.d3, self.out = DoubleConv(2 * w, w), nn.Conv2d(w, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        b = b - b.mean(0)
        c = self.d3(torch.cat([a, self.u(b)], 1))
        return self.out(c)


def soft_dice(logits, mask):
    p = logits.sigmoid().flatten(1)
    m = mask.flatten(1)
    return (1 - (2 * (p * m).sum(1) + 1) / (p.sum(1) + m.sum(1) + 1)).mean()


def blobs(n):
    c = torch.randint(3, 9, (n, 2))
    g = torch.arange(12)
    d = (g[None, :, None] - c[:, :1, None]) ** 2 + (g[None, None] - c[:, 1:, None]) ** 2
    mask = (d < 9).float()[:, None]
    return mask + 0.5 * torch.randn(n, 1, 12, 12), mask


torch.manual_seed(70)
net = UNet()
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
for step in range(20):
    x, m = blobs(12)
    z = net(x)
    loss = soft_dice(z, m) + 0.5 * F.binary_cross_entropy_with_logits(z, m)
    opt.zero_grad(set_to_none=False)
    loss.backward()
    opt.step()
print(loss.item())
