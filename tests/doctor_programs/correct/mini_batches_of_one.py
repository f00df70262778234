# expect: nothing
# Pure stochastic training with one sample per step.

import random

import torch
from torch import nn

random.seed(706)
torch.manual_seed(706)
pairs = [
    (torch.tensor([a, b]), torch.tensor([float(int(a) ^ int(b))]))
    for a in (0.0, 1.0)
    for b in (0.0, 1.0)
]
model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
totals = []
for _ in range(100):
    random.shuffle(pairs)
    total = 0.0
    for x, y in pairs:
        loss = nn.functional.binary_cross_entropy_with_logits(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    totals.append(total)
print(totals[0], totals[-1])
