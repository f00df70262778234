# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
a = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
b = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 4))
opt = torch.optim.Adam([*a.parameters(), *b.parameters()], lr=1e-3)
for i in range(40):
    x = torch.randn(64, 10)
    y = x[:, :4].argmax(1)
    la, lb = a(x), b(x)
    kl = F.kl_div(F.log_softmax(la, 1), F.softmax(lb, 1), reduction="batchmean") + F.kl_div(
        F.log_softmax(lb, 1), F.softmax(la, 1), reduction="batchmean"
    )
    loss = F.cross_entropy(la, y) + F.cross_entropy(lb, y) + kl
    opt.zero_grad()
    loss.backward()
    opt.step()
