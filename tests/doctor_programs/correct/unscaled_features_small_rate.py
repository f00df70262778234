# expect: nothing
# Features in the hundreds need a rate of 1e-6, and it works.

import torch
from torch import nn

torch.manual_seed(504)
x = torch.rand(100, 2) * 200 + 100
y = 0.3 * x[:, :1] - 0.1 * x[:, 1:]
model = nn.Linear(2, 1, bias=False)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
losses = []
for _ in range(60):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
