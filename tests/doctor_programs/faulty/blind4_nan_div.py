# expect: nan-origin line 9, 16

import numpy as np
import torch
import torch.nn as nn


def standardize(x):
    return (x - x.mean(0)) / x.std(0)


torch.manual_seed(0)
X = torch.randn(200, 5)
X = torch.cat([X, torch.ones(200, 1)], 1)  # bias column
y = X[:, :1] - X[:, 1:2]
X = standardize(X)
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for ep in range(20):
    loss = nn.functional.mse_loss(model(X), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(ep, loss.item())
