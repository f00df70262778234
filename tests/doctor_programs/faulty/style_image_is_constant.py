# expect: missing-requires-grad line 19
# The image that should be optimized is a plain tensor.

import torch
from torch import nn


def gram(f):
    c = f.shape[1]
    f = f.reshape(c, -1)
    return f @ f.t() / f.numel()


torch.manual_seed(0)
features = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1))
for p in features.parameters():
    p.requires_grad_(False)
style = torch.rand(1, 3, 12, 12)
canvas = torch.rand(1, 3, 12, 12)
optimizer = torch.optim.Adam([canvas], lr=0.05)
target = gram(features(style))
for step in range(20):
    optimizer.zero_grad()
    loss = ((gram(features(canvas)) - target) ** 2).sum()
    loss.backward()
    optimizer.step()
print(loss.item())
