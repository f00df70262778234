# expect: nothing

import clew as torch
import clew.nn as nn
import clew.nn.functional as F


def pgd(net, x, y, eps=0.1, a=0.04, k=4):
    adv = x + torch.empty_like(x).uniform_(-eps, eps)
    for _ in range(k):
        adv = adv.detach().requires_grad_(True)
        g = torch.autograd.grad(F.cross_entropy(net(adv), y), adv)[0]
        with torch.no_grad():
            adv = adv + a * g.sign()
            adv = torch.min(torch.max(adv, x - eps), x + eps)
    return adv.detach()


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for i in range(60):
    x = torch.randn(32, 6)
    y = x[:, :3].argmax(1)
    net.eval()
    adv = pgd(net, x, y)
    net.train()
    loss = F.cross_entropy(net(adv), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 15 == 0:
        print(i, loss.item())
