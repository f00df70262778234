# expect: zero-grad-before-step line 20

import torch
from torch import nn

torch.manual_seed(5)
ACCUM = 4
net = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
X = torch.randn(512, 10)
Y = (X[:, 0] * X[:, 1]).unsqueeze(1)
lossfn = nn.MSELoss()
opt.zero_grad()
for ep in range(4):
    for k, idx in enumerate(torch.randperm(512).split(16)):
        loss = lossfn(net(X[idx]), Y[idx]) / ACCUM
        loss.backward()
        if (k + 1) % ACCUM == 0:
            for p in net.parameters():
                p.grad = None
            opt.step()
    print(ep, loss.item() * ACCUM)
