# expect: nothing
# Two networks pick the small-loss samples for each other.

import torch
import torch.nn.functional as F
from torch import nn


def net():
    return nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))


torch.manual_seed(528)
x = torch.randn(200, 6)
clean = (x[:, 0] > x[:, 1]).long()
noisy = torch.where(torch.rand(200) < 0.2, 1 - clean, clean)
a, b = net(), net()
opt_a = torch.optim.Adam(a.parameters(), lr=5e-3)
opt_b = torch.optim.Adam(b.parameters(), lr=5e-3)


def clean_loss():
    with torch.no_grad():
        return F.cross_entropy(a(x), clean).item()


first = clean_loss()
for _ in range(12):
    for xb, yb in zip(x.split(50), noisy.split(50)):
        loss_a = F.cross_entropy(a(xb), yb, reduction="none")
        loss_b = F.cross_entropy(b(xb), yb, reduction="none")
        keep_a, keep_b = loss_a.argsort()[:40], loss_b.argsort()[:40]
        opt_a.zero_grad()
        loss_a[keep_b].mean().backward()
        opt_a.step()
        opt_b.zero_grad()
        loss_b[keep_a].mean().backward()
        opt_b.step()
print(first, clean_loss())
