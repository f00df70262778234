# expect: fp16-underflow line 8, 13, 15
# Model and data in float16, a tiny loss, no scaling.

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 16)).half()
opt = torch.optim.SGD(net.parameters(), lr=1.0)
for i in range(25):
    x = (torch.randn(64, 16) * 0.01).half()
    out = net(x)
    loss = ((out - x) ** 2).mean() * 1e-4
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
