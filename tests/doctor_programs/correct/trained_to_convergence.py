# expect: nothing
# Least squares trained until nothing moves any more: tiny gradients at the end are success.

import torch

torch.manual_seed(503)
x = torch.randn(60, 3)
y = x @ torch.tensor([[1.0], [2.0], [-1.0]])
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
losses = []
for _ in range(150):
    loss = (model(x) - y).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
