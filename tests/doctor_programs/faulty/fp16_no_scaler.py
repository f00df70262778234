# expect: fp16-underflow line 14, 16, 18

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(64, 8)
y = x[:, :1] * 2 - x[:, 1:2]

net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(20):
    with torch.autocast("cpu", dtype=torch.float16):
        out = net(x)
        loss = F.mse_loss(out, y) * 1e-6
    opt.zero_grad()
    loss.backward()
    opt.step()
