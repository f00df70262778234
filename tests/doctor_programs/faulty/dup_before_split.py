# expect: data-leak line 14

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(200, 8)
y = x[:, :3].argmax(1)
x2, y2 = torch.cat([x, x[:100]]), torch.cat([y, y[:100]])
perm = torch.randperm(300)
tr, te = perm[:240], perm[240:]
xtr, ytr = x2[tr], y2[tr]
xte, yte = x2[te], y2[te]
net = nn.Linear(8, 3)
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for epoch in range(10):
    net.train()
    loss = F.cross_entropy(net(xtr), ytr)
    opt.zero_grad()
    loss.backward()
    opt.step()
    net.eval()
    with torch.no_grad():
        acc = (net(xte).argmax(1) == yte).float().mean()
