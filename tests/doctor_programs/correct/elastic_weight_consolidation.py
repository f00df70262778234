# expect: nothing
# The Fisher information is measured by backwards without a step, then used as a penalty.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1003)
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x = torch.randn(120, 6)
task_a, task_b = (x[:, 0] > 0).long(), (x[:, 1] > 0).long()


def train(y, penalty, epochs=30):
    losses = []
    for _ in range(epochs):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        (loss + penalty()).backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


first = train(task_a, lambda: 0.0)
anchor = [p.detach().clone() for p in model.parameters()]
fisher = [torch.zeros_like(p) for p in model.parameters()]
for xb, yb in zip(x.split(10), task_a.split(10)):
    model.zero_grad()
    F.cross_entropy(model(xb), yb).backward()
    for f, p in zip(fisher, model.parameters()):
        f += p.grad.pow(2) / 12


def ewc():
    terms = zip(fisher, anchor, model.parameters())
    return 5.0 * sum((f * (p - a).pow(2)).sum() for f, a, p in terms)


second = train(task_b, ewc)
print(first[0], first[-1])
print(second[0], second[-1])
