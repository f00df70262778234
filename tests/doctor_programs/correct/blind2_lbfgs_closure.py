# expect: nothing

import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 12), nn.Tanh(), nn.Linear(12, 1))
x = torch.linspace(-2, 2, 50)[:, None]
y = torch.sin(2 * x)
opt = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=8)


def closure():
    opt.zero_grad()
    l = ((net(x) - y) ** 2).mean()
    l.backward()
    return l


for i in range(5):
    l = opt.step(closure)
    print(l.item())
