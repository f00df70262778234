# expect: nan-origin line 17
# The angle between equal vectors: acos at one.

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
net = nn.Linear(3, 3, bias=False)
with torch.no_grad():
    net.weight.copy_(torch.eye(3))
opt = torch.optim.SGD(net.parameters(), lr=0.1)


def angle(a, b):
    cos = (F.normalize(a, dim=1) * F.normalize(b, dim=1)).sum(1)
    return torch.acos(cos.clamp(-1, 1))


for i in range(6):
    x = F.one_hot(torch.randint(0, 3, (8,)), 3).float()
    loss = angle(net(x), x).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
