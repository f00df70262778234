# expect: loss-activation-mismatch line 16

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(90, 8)
y = x[:, :3].argmax(1)

net = nn.Linear(8, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
t = (y == 0).float().unsqueeze(1)
for i in range(20):
    opt.zero_grad()
    loss = F.binary_cross_entropy(net(x), t)
    loss.backward()
    opt.step()
