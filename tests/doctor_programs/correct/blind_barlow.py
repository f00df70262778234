# expect: nothing
# Barlow twins: batch statistics in the loss, softmax nowhere.

import clew as torch
from clew import nn

torch.manual_seed(0)
f = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 6))
opt = torch.optim.AdamW(f.parameters(), 2e-3)
for it in range(20):
    x = torch.randn(48, 10)
    a, b = f(x + 0.1 * torch.randn(48, 10)), f(x + 0.1 * torch.randn(48, 10))
    a, b = (a - a.mean(0)) / (a.std(0) + 1e-5), (b - b.mean(0)) / (b.std(0) + 1e-5)
    c = a.T @ b / 48
    on = (torch.diagonal(c) - 1).pow(2).sum()
    off = c.pow(2).sum() - torch.diagonal(c).pow(2).sum()
    loss = on + 5e-3 * off
    opt.zero_grad()
    loss.backward()
    opt.step()
