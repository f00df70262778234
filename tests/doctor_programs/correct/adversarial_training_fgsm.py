# expect: nothing
# FGSM training: the attacked input asks for its gradient and is detached afterwards.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(261)


def fgsm(model, x, y, epsilon=0.05):
    x_adv = x.clone().detach().requires_grad_(True)
    loss = F.cross_entropy(model(x_adv), y)
    (grad,) = torch.autograd.grad(loss, x_adv)
    return (x_adv + epsilon * grad.sign()).detach()


x = torch.rand(90, 9)
y = (x[:, :3].sum(1) > x[:, 3:6].sum(1)).long()
model = nn.Sequential(nn.Linear(9, 24), nn.ReLU(), nn.Linear(24, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
losses = []
for _ in range(12):
    for xb, yb in zip(x.split(30), y.split(30)):
        attacked = fgsm(model, xb, yb)
        loss = 0.5 * F.cross_entropy(model(xb), yb) + 0.5 * F.cross_entropy(model(attacked), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print(losses[0], losses[-1])
