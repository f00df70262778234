# expect: nothing
# Targets around 300 without scaling: a large first loss, Adam with a fitting rate copes.

import torch
from torch import nn

torch.manual_seed(705)
x = torch.rand(120, 3)
y = 300 + 50 * x[:, :1] - 20 * x[:, 1:2]
model = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-2)
losses = []
for _ in range(200):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
