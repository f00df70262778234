# expect: aliased-buffer line 19
# The trajectory list stores weight.detach().numpy(), all entries show the final weights.

import numpy as np
import torch
from torch import nn

torch.manual_seed(1102)
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(60, 2)
y = x @ torch.tensor([[1.0], [-2.0]])
trajectory = []
for _ in range(25):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    trajectory.append(model.weight.detach().numpy())
print("path length", float(np.abs(np.diff(np.stack(trajectory), axis=0)).sum()))
print("loss", loss.item())
