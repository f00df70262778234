# expect: nothing
# MAML with create_graph=True in the inner step, the outer loss reaches the initial weights.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(209)


def init():
    shapes = [(24, 1), (24,), (1, 24), (1,)]
    scales = [1.0, 0.5, 0.2, 0.0]
    return nn.ParameterList(
        nn.Parameter(s * torch.randn(*shape)) for shape, s in zip(shapes, scales)
    )


def forward(x, weights):
    w1, b1, w2, b2 = weights
    return F.linear(torch.tanh(F.linear(x, w1, b1)), w2, b2)


def adapt(weights, x, y, lr=0.1):
    loss = F.mse_loss(forward(x, weights), y)
    grads = torch.autograd.grad(loss, list(weights), create_graph=True)
    return [w - lr * g for w, g in zip(weights, grads)]


weights = init()
meta_optimizer = torch.optim.Adam(weights.parameters(), lr=5e-3)
losses = []
for _ in range(50):
    meta_loss = 0.0
    for _ in range(4):
        amplitude = 1.0 + torch.rand(1)
        x = torch.rand(20, 1) * 4 - 2
        y = amplitude * torch.sin(2 * x)
        fast = adapt(weights, x[:10], y[:10])
        meta_loss = meta_loss + F.mse_loss(forward(x[10:], fast), y[10:])
    meta_loss = meta_loss / 4
    meta_optimizer.zero_grad()
    meta_loss.backward()
    meta_optimizer.step()
    losses.append(meta_loss.item())
print("meta loss", sum(losses[:5]) / 5, sum(losses[-5:]) / 5)
