# expect: data-leak line 11, 13

import torch
from torch import nn

torch.manual_seed(0)
X = torch.randn(500, 8)
y = (X.sum(1) > 0).long()
perm = torch.randperm(500)
train_idx = perm[:400]
test_idx = torch.randperm(500)[400:]
Xtr, ytr = X[train_idx], y[train_idx]
Xte, yte = X[test_idx], y[test_idx]
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for ep in range(6):
    for i in torch.randperm(400).split(40):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(Xtr[i]), ytr[i])
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(ep, (net(Xte).argmax(1) == yte).float().mean().item())
