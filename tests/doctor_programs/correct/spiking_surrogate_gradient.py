# expect: nothing
# Spikes are a comparison forward and a smooth surrogate backward; the membrane reset is detached.

import torch
import torch.nn.functional as F
from torch import nn


class Spike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, v):
        ctx.save_for_backward(v)
        return (v > 0).float()

    @staticmethod
    def backward(ctx, grad):
        (v,) = ctx.saved_tensors
        return grad / (1 + 5 * v.abs()) ** 2


class SNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp, self.out = nn.Linear(6, 32), nn.Linear(32, 2)

    def forward(self, x, steps=8):
        v, total = torch.zeros(len(x), 32), 0.0
        current = self.inp(x)
        for _ in range(steps):
            v = 0.9 * v + current
            spike = Spike.apply(v - 1.0)
            v = v - spike.detach()
            total = total + self.out(spike)
        return total / steps


torch.manual_seed(719)
net = SNN()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
x = torch.randn(100, 6)
y = (x[:, 0] > x[:, 1]).long()
losses = []
for _ in range(30):
    loss = F.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
