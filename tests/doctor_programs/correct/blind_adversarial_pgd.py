# expect: nothing
# PGD training: input gradients by autograd.grad, the model in eval for the attack and train for
# the update.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
X = torch.randn(64, 8)
Y = (X[:, 0] > 0).long()


def attack(x, y):
    net.eval()
    d = torch.zeros_like(x).uniform_(-0.1, 0.1)
    for _ in range(3):
        d.requires_grad_()
        (g,) = torch.autograd.grad(F.cross_entropy(net(x + d), y), d)
        d = (d + 0.05 * g.sign()).clamp(-0.1, 0.1).detach()
    net.train()
    return x + d


for ep in range(4):
    for i in range(0, 64, 16):
        adv = attack(X[i : i + 16], Y[i : i + 16])
        opt.zero_grad()
        l = F.cross_entropy(net(adv), Y[i : i + 16])
        l.backward()
        opt.step()
print(l.item())
