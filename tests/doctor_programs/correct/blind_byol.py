# expect: nothing
# BYOL: an EMA target network under no_grad, predictor only on the online side.

import copy
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
online = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 8))
pred = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
target = copy.deepcopy(online)
for p in target.parameters():
    p.requires_grad = False
opt = torch.optim.Adam([*online.parameters(), *pred.parameters()], lr=1e-3)


def reg(a, b):
    return 2 - 2 * F.cosine_similarity(a, b, dim=-1).mean()


for it in range(15):
    x = torch.randn(32, 8)
    v1, v2 = x + 0.1 * torch.randn_like(x), x * (1 + 0.1 * torch.randn_like(x))
    with torch.no_grad():
        t1, t2 = target(v1), target(v2)
    loss = reg(pred(online(v1)), t2) + reg(pred(online(v2)), t1)
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for a, b in zip(online.parameters(), target.parameters()):
            b.mul_(0.99).add_(a, alpha=0.01)
print(loss.item())
