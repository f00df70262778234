# expect: bad-init line 14

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(90, 8)
y = x[:, :3].argmax(1)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))

for m in net:
    if isinstance(m, nn.Linear):
        nn.init.constant_(m.weight, 0.1)
        nn.init.zeros_(m.bias)
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for i in range(30):
    opt.zero_grad()
    F.cross_entropy(net(x), y).backward()
    opt.step()
