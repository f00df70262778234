# expect: vanishing-gradient line 7, 9, 11

import torch
import torch.nn as nn

torch.manual_seed(0)
layers = [nn.Linear(10, 32), nn.Sigmoid()]
for _ in range(8):
    layers += [nn.Linear(32, 32), nn.Sigmoid()]
layers.append(nn.Linear(32, 2))
net = nn.Sequential(*layers)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(40):
    x = torch.randn(64, 10)
    y = (x[:, 0] > 0).long()
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
