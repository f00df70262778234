# expect: data-leak line 11, 13

import torch
import torch.nn as nn

torch.manual_seed(0)
X = torch.randn(300, 6)
Y = (X[:, 0] + X[:, 1] > 0).long()
perm = torch.randperm(300)
train_idx = perm[:240]
val_idx = perm[200:]
Xtr, Ytr = X[train_idx], Y[train_idx]
Xva, Yva = X[val_idx], Y[val_idx]
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(8):
    net.train()
    for xb, yb in zip(Xtr.split(40), Ytr.split(40)):
        loss = nn.functional.cross_entropy(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        acc = (net(Xva).argmax(1) == Yva).float().mean()
    print(epoch, acc.item())
