# expect: fp16-underflow line 7, 8, 9, 11, 14, 16

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(
    nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 16)
).half()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
X = (torch.randn(64, 16) * 1e-2).half()
for i in range(40):
    out = net(X)
    loss = ((out.float() - X.float()) ** 2).mean() * 1e-4
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 10 == 0:
        print(i, loss.item())
