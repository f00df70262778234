# expect: nothing
# The attack calls backward(); the model's stray gradients are cleared before the training step.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(262)
model = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)


def pgd(x, y, steps=3, alpha=0.03, epsilon=0.08):
    delta = torch.zeros_like(x, requires_grad=True)
    for _ in range(steps):
        F.cross_entropy(model(x + delta), y).backward()
        with torch.no_grad():
            delta += alpha * delta.grad.sign()
            delta.clamp_(-epsilon, epsilon)
        delta.grad.zero_()
    return (x + delta).detach()


x = torch.randn(100, 5)
y = x[:, :3].argmax(1)
losses = []
for _ in range(40):
    attacked = pgd(x, y)
    optimizer.zero_grad()
    loss = F.cross_entropy(model(attacked), y)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print("robust loss", losses[0], losses[-1])
