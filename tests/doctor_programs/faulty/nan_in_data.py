# expect: nan-origin line 12, 17

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
import numpy as np

raw = np.random.RandomState(0).randn(64, 8).astype("float32")
raw[3, 2] = np.nan
x = torch.from_numpy(raw)
y = torch.randn(64, 1)
net = nn.Linear(8, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(5):
    loss = F.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
