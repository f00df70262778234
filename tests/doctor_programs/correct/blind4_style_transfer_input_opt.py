# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
feat = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1)).eval()
for p in feat.parameters():
    p.requires_grad_(False)
target = torch.rand(1, 1, 10, 10)
with torch.no_grad():
    ft = feat(target)
img = torch.rand(1, 1, 10, 10).requires_grad_(True)
opt = torch.optim.Adam([img], lr=0.05)
for i in range(80):
    opt.zero_grad()
    loss = nn.functional.mse_loss(feat(img), ft)
    loss.backward()
    opt.step()
    with torch.no_grad():
        img.clamp_(0, 1)
    if i % 20 == 0:
        print(i, loss.item())
