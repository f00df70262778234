# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
import copy

net = nn.Linear(4, 4)
tgt = copy.deepcopy(net)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for i in range(30):
    x = torch.randn(16, 4)
    with torch.no_grad():
        t = tgt(x)
    loss = F.mse_loss(net(x + 0.1), t)
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for p, q in zip(net.parameters(), tgt.parameters()):
            q.mul_(0.9).add_(p, alpha=0.1)
