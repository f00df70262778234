# expect: aliased-buffer line 13

import clew as torch
import clew.nn as nn

# measure how far the weights move each epoch
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
X = torch.randn(128, 5)
y = X[:, :1]
for ep in range(8):
    old = [p.detach() for p in net.parameters()]
    for xb, yb in zip(X.split(32), y.split(32)):
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(xb), yb)
        loss.backward()
        opt.step()
    moved = sum((p.detach() - o).norm().item() for p, o in zip(net.parameters(), old))
    print(ep, loss.item(), "moved", moved)
