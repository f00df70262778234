# expect: nothing
# Mixup with soft targets and smoothed labels.

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(192, 6)
y = x[:, :3].argmax(1)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, nesterov=True)
beta = torch.distributions.Beta(0.4, 0.4)
for epoch in range(4):
    for idx in torch.randperm(192).split(32):
        xb, yb = x[idx], F.one_hot(y[idx], 3).float() * 0.9 + 0.1 / 3
        lam = beta.sample()
        perm = torch.randperm(len(idx))
        xm, ym = lam * xb + (1 - lam) * xb[perm], lam * yb + (1 - lam) * yb[perm]
        loss = F.cross_entropy(net(xm), ym)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
