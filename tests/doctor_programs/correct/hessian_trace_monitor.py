# expect: nothing
# Hutchinson's estimate of the Hessian trace by a second differentiation, for monitoring.

import torch
from torch import nn

torch.manual_seed(1005)
model = nn.Sequential(nn.Linear(4, 12), nn.Tanh(), nn.Linear(12, 1))
params = list(model.parameters())
optimizer = torch.optim.SGD(params, lr=0.1)
x = torch.randn(60, 4)
y = x[:, :1] * x[:, 1:2]
losses, traces = [], []
for step in range(60):
    loss = nn.functional.mse_loss(model(x), y)
    if step % 20 == 0:
        grads = torch.autograd.grad(loss, params, create_graph=True)
        v = [torch.randint(0, 2, p.shape).float() * 2 - 1 for p in params]
        hv = torch.autograd.grad(grads, params, v, retain_graph=True)
        traces.append(sum((a * b).sum().item() for a, b in zip(v, hv)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print("traces", len(traces))
print(losses[0], losses[-1])
