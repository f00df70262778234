# expect: loss-broadcast line 13

import torch
from torch import nn

torch.manual_seed(0)
X = torch.randn(128, 4)
y = X[:, 0] * 2 - X[:, 1]
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(50):
    pred = net(X)
    loss = ((pred - y) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 10 == 0:
        print(epoch, loss.item())
