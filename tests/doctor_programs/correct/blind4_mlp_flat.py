# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
X = torch.randn(256, 8)
y = X[:, :4].argmax(1)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
losses = []
for ep in range(10):
    for i in torch.randperm(256).split(32):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(X[i]), y[i])
        loss.backward()
        opt.step()
        losses.append(loss.item())
    print(ep, sum(losses[-8:]) / 8)
