# expect: nothing

import copy
import torch
from torch import nn

torch.manual_seed(0)
X = torch.randn(240, 6)
y = X[:, :1] * X[:, 1:2] + 0.1 * torch.randn(240, 1)
xt, yt, xv, yv = X[:180], y[:180], X[180:], y[180:]
net = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Dropout(0.1), nn.Linear(48, 1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
best, wait = float("inf"), 0
state = copy.deepcopy(net.state_dict())
for ep in range(40):
    net.train()
    for i in torch.randperm(180).split(30):
        opt.zero_grad()
        l = nn.functional.mse_loss(net(xt[i]), yt[i])
        l.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        v = nn.functional.mse_loss(net(xv), yv).item()
    if v < best - 1e-4:
        best, wait, state = v, 0, copy.deepcopy(net.state_dict())
    else:
        wait += 1
        if wait == 6:
            print("stop", ep)
            break
net.load_state_dict(state)
net.eval()
print(best)
