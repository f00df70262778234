# expect: nothing
# backward() on a vector with an explicit gradient argument: weighted samples.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(280)
x = torch.randn(80, 5)
y = (x[:, 0] > 0).long()
weights = torch.rand(80) + 0.5
weights = weights / weights.sum()
model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
losses = []
for _ in range(40):
    per_sample = F.cross_entropy(model(x), y, reduction="none")
    optimizer.zero_grad()
    per_sample.backward(weights)
    optimizer.step()
    losses.append((per_sample.detach() * weights).sum().item())
print(losses[0], losses[-1])
