# expect: nothing
# GradNorm-like: gradients of each task loss by autograd.grad, then one backward.

import torch
from torch import nn

torch.manual_seed(0)
trunk = nn.Sequential(nn.Linear(6, 20), nn.ReLU())
heads = nn.ModuleList([nn.Linear(20, 1), nn.Linear(20, 1)])
weights = [1.0, 1.0]
opt = torch.optim.Adam([*trunk.parameters(), *heads.parameters()], lr=2e-3)
for i in range(25):
    x = torch.randn(24, 6)
    h = trunk(x)
    losses = [nn.functional.mse_loss(hd(h), t) for hd, t in zip(heads, (x[:, :1], 5 * x[:, 1:2]))]
    norms = []
    for loss in losses:
        (g,) = torch.autograd.grad(loss, [trunk[0].weight], retain_graph=True)
        norms.append(g.norm().item() + 1e-8)
    mean = sum(norms) / 2
    weights = [0.9 * w + 0.1 * mean / n for w, n in zip(weights, norms)]
    total = sum(w * l for w, l in zip(weights, losses))
    opt.zero_grad()
    total.backward()
    opt.step()
print(total.item(), weights)
