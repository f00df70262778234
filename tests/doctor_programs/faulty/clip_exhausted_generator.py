# expect: clip-misplaced line 17

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(64, 8)
y = x[:, :1] * 2 - x[:, 1:2]
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))

params = net.parameters()
opt = torch.optim.SGD(params, lr=0.01)
for i in range(20):
    opt.zero_grad()
    F.mse_loss(net(x), y).backward()
    nn.utils.clip_grad_norm_(params, 1.0)
    opt.step()
