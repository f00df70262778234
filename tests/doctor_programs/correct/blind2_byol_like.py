# expect: nothing

import copy
import clew as torch
import clew.nn as nn
import clew.nn.functional as F

torch.manual_seed(0)
online = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 8))
pred = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
target = copy.deepcopy(online)
for p in target.parameters():
    p.requires_grad = False
opt = torch.optim.Adam(list(online.parameters()) + list(pred.parameters()), lr=1e-3)
for i in range(30):
    x = torch.randn(32, 8)
    v1, v2 = x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x)
    with torch.no_grad():
        t = target(v2)
    loss = 2 - 2 * F.cosine_similarity(pred(online(v1)), t, dim=-1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for a, b in zip(target.parameters(), online.parameters()):
            a.data = 0.99 * a.data + 0.01 * b.data
print(loss.item())
