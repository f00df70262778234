# expect: target-not-detached line 17, 18

import copy
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
online = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))
target = copy.deepcopy(online)
pred = nn.Linear(8, 8)
opt = torch.optim.Adam([*online.parameters(), *pred.parameters()], lr=2e-3)
base = torch.randn(50, 10)
for i in range(60):
    x = base[torch.randint(0, 50, (32,))]
    a, b = x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x)
    t = online(b)
    loss = F.mse_loss(F.normalize(pred(online(a)), dim=1), F.normalize(t, dim=1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for p, q in zip(online.parameters(), target.parameters()):
            q.lerp_(p, 0.05)
print(loss.item())
