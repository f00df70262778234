# expect: data-leak line 13, 15

import torch
from torch import nn
from torch.utils.data import TensorDataset, DataLoader, Subset

torch.manual_seed(0)
X = torch.randn(250, 6)
y = (X[:, 0] > 0).long()
ds = TensorDataset(X, y)
idx = torch.randperm(250).tolist()
train = Subset(ds, idx[:200])
test = Subset(ds, idx[180:])
tl = DataLoader(train, batch_size=20, shuffle=True)
vl = DataLoader(test, batch_size=35)
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for ep in range(5):
    for xb, yb in tl:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(xb), yb)
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(ep, sum((net(a).argmax(1) == b).sum().item() for a, b in vl) / len(test))
