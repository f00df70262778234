# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(90, 8)
y = x[:, :3].argmax(1)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))

opt = torch.optim.SGD(net.parameters(), lr=0.1)
K = 3
for epoch in range(5):
    opt.zero_grad()
    for i in range(9):
        loss = F.cross_entropy(net(x[i * 10 : (i + 1) * 10]), y[i * 10 : (i + 1) * 10]) / K
        loss.backward()
        if (i + 1) % K == 0:
            opt.step()
            opt.zero_grad()
