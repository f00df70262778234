# expect: fp16-underflow line 10, 13, 15

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(64, 8).half()
y = torch.randn(64, 1).half()
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)).half()
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(20):
    loss = F.mse_loss(net(x), y) * 1e-5
    opt.zero_grad()
    loss.backward()
    opt.step()
