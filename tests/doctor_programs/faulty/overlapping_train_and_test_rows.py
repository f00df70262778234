# expect: data-leak line 10, 11, 13
# The two index sets are drawn independently, so they overlap.

import torch
from torch import nn

torch.manual_seed(0)
X = torch.randn(300, 6)
Y = (X[:, 0] + X[:, 1] ** 2 > 1).long()
train_idx = torch.randperm(300)[:240]
test_idx = torch.randperm(300)[:60]
Xtr, Ytr = X[train_idx], Y[train_idx]
Xte, Yte = X[test_idx], Y[test_idx]
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(6):
    for i in range(0, 240, 40):
        loss = nn.functional.cross_entropy(net(Xtr[i : i + 40]), Ytr[i : i + 40])
        opt.zero_grad()
        loss.backward()
        opt.step()
with torch.no_grad():
    net.eval()
    print("test", (net(Xte).argmax(1) == Yte).float().mean().item())
