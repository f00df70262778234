# expect: fp16-underflow line 7, 12, 14

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1)).half()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(30):
    x = torch.randn(64, 8).half()
    y = x[:, :1] * 1e-3
    loss = ((net(x) - y) ** 2).mean() * 1e-5
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
