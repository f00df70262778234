# expect: missing-requires-grad line 18, 19
# Adversarial example: the input whose gradient is read never asked for one.

import torch
from torch import nn

torch.manual_seed(14)
clf = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 3))
opt = torch.optim.Adam(clf.parameters(), lr=5e-3)
x, y = torch.randn(60, 12), torch.randint(0, 3, (60,))
for _ in range(20):
    opt.zero_grad()
    nn.functional.cross_entropy(clf(x), y).backward()
    opt.step()


def fgsm(model, inputs, labels, eps):
    adv = inputs.clone().detach()
    adv.require_grad = True
    nn.functional.cross_entropy(model(adv), labels).backward()
    return (adv + eps * adv.grad.sign()).detach()


print((clf(fgsm(clf, x, y, 0.1)).argmax(1) == y).float().mean())
