# expect: detached-graph line 31
# The adapted weights are detached and re-marked, so the meta-loss never reaches the initial ones.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(180)


class SineModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(20, 1))
        self.b1 = nn.Parameter(torch.randn(20))
        self.w2 = nn.Parameter(torch.randn(1, 20) * 0.2)
        self.b2 = nn.Parameter(torch.zeros(1))

    def weights(self):
        return [self.w1, self.b1, self.w2, self.b2]


def forward(x, weights):
    w1, b1, w2, b2 = weights
    return F.linear(torch.tanh(F.linear(x, w1, b1)), w2, b2)


def adapt(weights, x, y, lr=0.05):
    loss = F.mse_loss(forward(x, weights), y)
    grads = torch.autograd.grad(loss, weights)
    return [(w - lr * g).detach().requires_grad_() for w, g in zip(weights, grads)]


model = SineModel()
meta_optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for iteration in range(15):
    meta_loss = 0.0
    for _ in range(4):
        phase = torch.rand(1) * 3
        x = torch.rand(20, 1) * 6 - 3
        y = torch.sin(x + phase)
        fast = adapt(model.weights(), x[:10], y[:10])
        meta_loss = meta_loss + F.mse_loss(forward(x[10:], fast), y[10:])
    meta_optimizer.zero_grad()
    meta_loss.backward()
    meta_optimizer.step()
    if iteration % 5 == 0:
        print(iteration, meta_loss.item() / 4)
