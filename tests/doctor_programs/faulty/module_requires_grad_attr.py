# expect: missing-requires-grad line 15

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(90, 8)
y = x[:, :3].argmax(1)

net = nn.Sequential(nn.Linear(8, 16), nn.ReLU())
head = nn.Linear(16, 3)
for p in [*net.parameters(), *head.parameters()]:
    p.requires_grad = False
head.requires_grad = True
opt = torch.optim.SGD(head.parameters(), lr=0.1)
for i in range(10):
    opt.zero_grad()
    loss = F.cross_entropy(head(net(x)), y)
    loss.backward()
    opt.step()
