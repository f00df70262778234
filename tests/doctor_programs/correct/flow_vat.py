# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
f = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.Adam(f.parameters(), lr=1e-3)
for i in range(30):
    x = torch.randn(64, 10)
    y = x[:, :4].argmax(1)
    with torch.no_grad():
        p = F.softmax(f(x), 1)
    d = (1e-2 * F.normalize(torch.randn_like(x), dim=1)).requires_grad_()
    kl = F.kl_div(F.log_softmax(f(x + d), 1), p, reduction="batchmean")
    (g,) = torch.autograd.grad(kl, d)
    adv = F.kl_div(F.log_softmax(f(x + F.normalize(g, dim=1)), 1), p, reduction="batchmean")
    loss = F.cross_entropy(f(x), y) + adv
    opt.zero_grad()
    loss.backward()
    opt.step()
