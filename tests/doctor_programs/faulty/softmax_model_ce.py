# expect: loss-activation-mismatch line 11, 16

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(90, 8)
y = x[:, :3].argmax(1)

net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3), nn.Softmax(dim=1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
crit = nn.CrossEntropyLoss()
for i in range(20):
    opt.zero_grad()
    loss = crit(net(x), y)
    loss.backward()
    opt.step()
