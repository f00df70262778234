# expect: nothing
# Reptile: inner SGD on a copy, the outer step interpolates the weights by hand.

import copy

import torch
from torch import nn

torch.manual_seed(210)
model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))


def task():
    slope = 1.0 + torch.rand(1)
    x = torch.rand(30, 1) * 2 - 1
    return x, slope * x + 0.5


def inner(model, x, y, steps=5, lr=0.1):
    learner = copy.deepcopy(model)
    optimizer = torch.optim.SGD(learner.parameters(), lr=lr)
    for _ in range(steps):
        loss = nn.functional.mse_loss(learner(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return learner


def zero_shot():
    with torch.no_grad():
        return sum(
            nn.functional.mse_loss(model(x), y).item() for x, y in [task() for _ in range(10)]
        )


first = zero_shot()
for _ in range(30):
    x, y = task()
    learner = inner(model, x, y)
    with torch.no_grad():
        for p, q in zip(model.parameters(), learner.parameters()):
            p.add_(0.3 * (q - p))
print("zero-shot error", first, zero_shot())
