# expect: nothing

import torch
from torch import nn


def init(m):
    if isinstance(m, (nn.Linear, nn.Conv2d)):
        nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
        nn.init.zeros_(m.bias)
    elif isinstance(m, nn.BatchNorm2d):
        nn.init.ones_(m.weight)
        nn.init.zeros_(m.bias)


torch.manual_seed(0)
net = nn.Sequential(
    nn.Conv2d(3, 8, 3),
    nn.BatchNorm2d(8),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(72, 32),
    nn.ReLU(),
    nn.Linear(32, 3),
)
net.apply(init)
opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
x = torch.randn(192, 3, 8, 8)
y = x.mean((2, 3)).argmax(1)
for ep in range(5):
    for i in torch.randperm(192).split(24):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(x[i]), y[i])
        loss.backward()
        opt.step()
    print(ep, loss.item())
