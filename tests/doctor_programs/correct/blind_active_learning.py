# expect: nothing
# Active learning: rows of the pool are scored without gradients, the least certain move to the
# training set.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
X = torch.randn(120, 4)
Y = (X.sum(1) > 0).long()
xt = torch.randn(40, 4)
yt = (xt.sum(1) > 0).long()
lab = list(range(10))
pool = list(range(10, 120))
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(net.parameters(), 1e-2)
for r in range(5):
    net.train()
    for _ in range(15):
        opt.zero_grad()
        F.cross_entropy(net(X[lab]), Y[lab]).backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        p = net(X[pool]).softmax(-1)
        ent = -(p * p.clamp_min(1e-9).log()).sum(-1)
        pick = ent.topk(10).indices.tolist()
        acc = (net(xt).argmax(1) == yt).float().mean()
    chosen = {pool[i] for i in pick}
    lab += sorted(chosen)
    pool = [i for i in pool if i not in chosen]
    print(r, acc.item())
