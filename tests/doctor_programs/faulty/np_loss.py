# expect: detached-graph line 16, 17

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(64, 8)
y = x[:, :1] * 2 - x[:, 1:2]
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))

import numpy as np

opt = torch.optim.Adam(net.parameters(), lr=0.01)
for i in range(5):
    pred = net(x).detach().numpy()
    loss = torch.tensor(np.mean((pred - y.numpy()) ** 2), requires_grad=True)
    opt.zero_grad()
    loss.backward()
    opt.step()
