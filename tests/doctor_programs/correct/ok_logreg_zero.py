# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(90, 8)
y = x[:, :3].argmax(1)

net = nn.Linear(8, 3)
nn.init.zeros_(net.weight)
nn.init.zeros_(net.bias)
opt = torch.optim.SGD(net.parameters(), lr=0.5)
for i in range(40):
    opt.zero_grad()
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    opt.step()
