# expect: nothing
# NumPy data shared with tensors and never written again, trained in float64.

import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(413)
features = rng.normal(size=(120, 4))
target = features @ np.array([[1.0], [-2.0], [0.5], [0.0]]) + 0.3
torch.manual_seed(413)
x, y = torch.from_numpy(features), torch.from_numpy(target)
model = nn.Linear(4, 1).double()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []
for _ in range(40):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
with torch.no_grad():
    residual = model(x).numpy() - target
print("largest residual", float(np.abs(residual).max()))
print(losses[0], losses[-1])
