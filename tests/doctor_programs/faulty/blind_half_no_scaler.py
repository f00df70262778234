# expect: fp16-underflow line 8, 14, 15
# A half-precision copy trains on a tiny loss with no scaling.

import torch
from torch import nn

torch.manual_seed(6)
net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1)).half()
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
x = torch.randn(64, 8).half()
y = (x.float().mean(1, keepdim=True) * 1e-3).half()
for _ in range(10):
    opt.zero_grad()
    loss = ((net(x) - y) ** 2).mean() * 1e-6
    loss.backward()
    opt.step()
print(loss.item())
