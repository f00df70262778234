# expect: data-leak line 11, 12, 15, 28, 29

import torch
import torch.nn as nn
from torch.utils.data import TensorDataset, DataLoader, Subset

torch.manual_seed(0)
X = torch.randn(200, 6)
Y = (X[:, 0] > 0).long()
minor = X[Y == 1]
Xa = torch.cat([X, minor[:60]])
Ya = torch.cat([Y, torch.ones(60, dtype=torch.long)])
ds = TensorDataset(Xa, Ya)
perm = torch.randperm(len(ds)).tolist()
train, test = Subset(ds, perm[:200]), Subset(ds, perm[200:])
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for ep in range(4):
    net.train()
    for x, y in DataLoader(train, batch_size=40, shuffle=True):
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    ok = 0
    with torch.no_grad():
        for x, y in DataLoader(test, batch_size=60):
            ok += (net(x).argmax(1) == y).sum().item()
    print(ep, ok / len(test))
