# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
f = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.Adam(f.parameters(), lr=1e-3)
for i in range(40):
    x = torch.randn(64, 10)
    y = x[:, :4].argmax(1)
    u = torch.randn(128, 10)
    lu = f(u)
    ent = -(F.softmax(lu, 1) * F.log_softmax(lu, 1)).sum(1).mean()
    loss = F.cross_entropy(f(x), y) + 0.1 * ent
    opt.zero_grad()
    loss.backward()
    opt.step()
