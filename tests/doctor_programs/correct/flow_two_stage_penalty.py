# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(10, 16), nn.Tanh())
dec = nn.Linear(16, 10)
clf = nn.Linear(16, 2)
o1 = torch.optim.Adam([*enc.parameters(), *dec.parameters()], 1e-3)
o2 = torch.optim.Adam(clf.parameters(), 1e-3)
for i in range(30):
    x = torch.randn(32, 10)
    y = (x[:, 0] > 0).long()
    h = enc(x)
    l1 = F.mse_loss(dec(h), x) + 1e-3 * h.abs().mean()
    l2 = F.cross_entropy(clf(h.detach()), y)
    o1.zero_grad()
    o2.zero_grad()
    (l1 + l2).backward()
    o1.step()
    o2.step()
