# expect: missing-zero-grad line 16, 19

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
X = torch.randn(64, 5)
Y = X[:, :1]


def step(idx):
    def closure():
        loss = (net(X[idx]) - Y[idx]).pow(2).mean()
        loss.backward()
        return loss

    return opt.step(closure)


for i in range(30):
    step(torch.randint(0, 64, (16,)))
