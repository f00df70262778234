# expect: missing-requires-grad line 20, 24

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
X = torch.randn(128, 10)
y = (X[:, 0] + X[:, 1] > 0).long()
for i in range(50):
    opt.zero_grad()
    loss = F.cross_entropy(net(X), y)
    loss.backward()
    opt.step()


def fgsm(model, x, y, eps):
    x_adv = x.clone()
    loss = F.cross_entropy(model(x_adv), y)
    model.zero_grad()
    loss.backward()
    return x_adv + eps * x_adv.grad.sign()


adv = fgsm(net, X, y, 0.2)
print("adv acc", (net(adv).argmax(1) == y).float().mean().item())
