# expect: detached-graph line 13

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 4))
head = nn.Linear(4, 1)
opt = torch.optim.Adam([*net.parameters(), *head.parameters()], lr=5e-3)
for i in range(60):
    x = torch.randn(32, 6)
    code = F.one_hot(net(x).argmax(1), 4).float()
    loss = F.mse_loss(head(code), x[:, :1])
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
