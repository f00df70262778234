# expect: missing-zero-grad line 12, 15, 16

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
X = torch.randn(320, 8)
y = (X[:, 0] > 0).long()
for epoch in range(5):
    opt.zero_grad()
    for xb, yb in zip(X.split(32), y.split(32)):
        loss = nn.functional.cross_entropy(net(xb), yb)
        loss.backward()
        opt.step()
    print(epoch, loss.item())
