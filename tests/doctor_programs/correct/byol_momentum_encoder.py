# expect: nothing
# BYOL: the target branch runs under no_grad and follows the online one by averaging.

import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(225)
online = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))
predictor = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
target = copy.deepcopy(online)
for p in target.parameters():
    p.requires_grad = False
optimizer = torch.optim.Adam([*online.parameters(), *predictor.parameters()], lr=3e-3)


def regression_loss(p, z):
    return (2 - 2 * F.cosine_similarity(p, z, dim=-1)).mean()


data = torch.randn(96, 10)
losses = []
for _ in range(10):
    for batch in data.split(32):
        a = batch + 0.2 * torch.randn_like(batch)
        b = batch + 0.2 * torch.randn_like(batch)
        with torch.no_grad():
            ta, tb = target(a), target(b)
        loss = regression_loss(predictor(online(a)), tb) + regression_loss(predictor(online(b)), ta)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for po, pt in zip(online.parameters(), target.parameters()):
                pt.data = 0.98 * pt.data + 0.02 * po.data
        losses.append(loss.item())
print(losses[0], losses[-1])
