# expect: nothing

import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 2)
)
for p in net[0].parameters():
    p.requires_grad = False
opt = torch.optim.SGD(filter(lambda p: p.requires_grad, net.parameters()), lr=0.05, momentum=0.9)
x = torch.randn(128, 1, 8, 8)
y = (x.mean((1, 2, 3)) > 0).long()
for ep in range(6):
    for i in torch.randperm(128).split(16):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(x[i]), y[i])
        loss.backward()
        opt.step()
    print(ep, loss.item())
