# expect: nothing

import clew as torch
import clew.nn as nn
import clew.nn.functional as F

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)


def fgsm(x, y, eps=0.1):
    x = x.clone().detach().requires_grad_(True)
    F.cross_entropy(net(x), y).backward()
    return (x + eps * x.grad.sign()).detach()


for i in range(30):
    x = torch.randn(32, 8)
    y = (x[:, 0] > 0).long()
    xa = fgsm(x, y)
    opt.zero_grad()
    loss = 0.5 * F.cross_entropy(net(x), y) + 0.5 * F.cross_entropy(net(xa), y)
    loss.backward()
    opt.step()
print(loss.item())
