# expect: nothing
# Trained in float32, evaluated by a float16 copy: no gradient is involved.

import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1006)
x = torch.randn(160, 8)
y = x[:, :3].argmax(1)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
losses = []
for _ in range(40):
    loss = F.cross_entropy(model(x[:120]), y[:120])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
small = copy.deepcopy(model).half().eval()
with torch.no_grad():
    accuracy = (small(x[120:].half()).argmax(1) == y[120:]).float().mean().item()
print("accuracy in float16", accuracy)
print(losses[0], losses[-1])
