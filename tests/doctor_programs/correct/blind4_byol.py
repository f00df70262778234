# expect: nothing

import copy
import torch
from torch import nn
import torch.nn.functional as F


def mlp(i, h, o):
    return nn.Sequential(nn.Linear(i, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Linear(h, o))


torch.manual_seed(0)
online, pred = mlp(16, 32, 16), mlp(16, 32, 16)
target = copy.deepcopy(online)
for p in target.parameters():
    p.requires_grad = False
opt = torch.optim.SGD(list(online.parameters()) + list(pred.parameters()), lr=0.05, momentum=0.9)
cent = torch.randn(10, 16) * 2
for step in range(80):
    x = cent[torch.randint(0, 10, (32,))]
    a, b = x + 0.2 * torch.randn_like(x), x + 0.2 * torch.randn_like(x)
    with torch.no_grad():
        ta, tb = target(a), target(b)
    loss = 4 - 2 * (
        F.cosine_similarity(pred(online(a)), tb).mean()
        + F.cosine_similarity(pred(online(b)), ta).mean()
    )
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for po, pt in zip(online.parameters(), target.parameters()):
            pt.lerp_(po, 0.01)
    if step % 20 == 0:
        print(step, loss.item())
