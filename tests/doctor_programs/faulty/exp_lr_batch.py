# expect: scheduler-misuse line 14, 21

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(90, 8)
y = x[:, :3].argmax(1)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))

epochs = 10
opt = torch.optim.SGD(net.parameters(), lr=0.1)
sched = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.9)
for epoch in range(epochs):
    for i in range(9):
        xb, yb = x[i * 10 : (i + 1) * 10], y[i * 10 : (i + 1) * 10]
        opt.zero_grad()
        F.cross_entropy(net(xb), yb).backward()
        opt.step()
        sched.step()
