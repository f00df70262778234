# expect: accumulation-not-averaged line 16, 17, 20

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.02)
X = torch.randn(320, 6)
y = X[:, :1]
micro, every = 8, 5
seen = 0
opt.zero_grad()
for ep in range(4):
    for i in torch.randperm(320).split(micro):
        loss = nn.functional.mse_loss(net(X[i]), y[i])
        loss.backward()
        seen += 1
        if seen == every:
            opt.step()
            opt.zero_grad(set_to_none=True)
            seen = 0
    print(ep, loss.item())
