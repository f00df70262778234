# expect: nothing
# A permutation feature importance: one column is shuffled on purpose, for evaluation only.

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(200, 4)
y = 2 * x[:, :1] + 0.1 * x[:, 1:2]
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(6):
    order = torch.randperm(200)
    xs, ys = x[order], y[order]
    for i in range(0, 200, 40):
        loss = nn.functional.mse_loss(net(xs[i : i + 40]), ys[i : i + 40])
        opt.zero_grad()
        loss.backward()
        opt.step()
with torch.no_grad():
    base = nn.functional.mse_loss(net(x), y)
    for j in range(4):
        xp = x.clone()
        xp[:, j] = xp[torch.randperm(200), j]
        print(j, (nn.functional.mse_loss(net(xp), y) - base).item())
