# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), lr=1e-4)
crit = nn.MSELoss(reduction="sum")
X = torch.randn(64, 6)
y = X[:, :1] - X[:, 1:2]
for t in range(300):
    p = net(X)
    loss = crit(p, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if t % 100 == 0:
        print(t, loss.item())
