# expect: accumulation-not-averaged line 17, 18, 20

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(64, 8)
y = x[:, :1] * 2 - x[:, 1:2]
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))

opt = torch.optim.SGD(net.parameters(), lr=0.01)
K = 4
for epoch in range(4):
    for i in range(8):
        xb, yb = x[i * 8 : (i + 1) * 8], y[i * 8 : (i + 1) * 8]
        loss = F.mse_loss(net(xb), yb)
        loss.backward()
        if (i + 1) % K == 0:
            opt.step()
            opt.zero_grad()
