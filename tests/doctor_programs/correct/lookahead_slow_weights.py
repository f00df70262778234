# expect: nothing
# Lookahead: fast weights are pulled back to slow copies every five steps.

import torch
from torch import nn

torch.manual_seed(402)
model = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 1))
fast = torch.optim.Adam(model.parameters(), lr=1e-2)
slow = [p.detach().clone() for p in model.parameters()]
x = torch.randn(100, 4)
y = x[:, :1] * x[:, 1:2]
losses = []
for step in range(1, 61):
    loss = nn.functional.mse_loss(model(x), y)
    fast.zero_grad()
    loss.backward()
    fast.step()
    if step % 5 == 0:
        with torch.no_grad():
            for s, p in zip(slow, model.parameters()):
                s += 0.5 * (p - s)
                p.copy_(s)
    losses.append(loss.item())
print(losses[0], losses[-1])
