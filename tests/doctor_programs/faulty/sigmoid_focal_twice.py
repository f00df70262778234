# expect: loss-activation-mismatch line 10, 21
# Probabilities go into binary_cross_entropy_with_logits inside a helper.

import torch
import torch.nn.functional as F
from torch import nn


def focal(prob, target, gamma=2.0):
    ce = F.binary_cross_entropy_with_logits(prob, target, reduction="none")
    pt = torch.where(target > 0.5, prob, 1 - prob)
    return ((1 - pt) ** gamma * ce).mean()


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for i in range(25):
    x = torch.randn(32, 6)
    y = (x[:, :1] > 0.5).float()
    loss = focal(torch.sigmoid(net(x)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
