# expect: nothing
# A hand-written momentum optimizer that works on .data and zeroes .grad in place.

import torch
import torch.nn.functional as F
from torch import nn


class MomentumSGD:
    def __init__(self, params, lr, beta=0.9):
        self.params = list(params)
        self.lr, self.beta = lr, beta
        self.velocity = [torch.zeros_like(p) for p in self.params]

    def step(self):
        for p, v in zip(self.params, self.velocity):
            v.mul_(self.beta).add_(p.grad.data)
            p.data.add_(v, alpha=-self.lr)

    def zero_grad(self):
        for p in self.params:
            if p.grad is not None:
                p.grad.detach_()
                p.grad.zero_()


torch.manual_seed(219)
model = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 2))
optimizer = MomentumSGD(model.parameters(), lr=0.05)
x = torch.randn(100, 5)
y = (x[:, 0] > x[:, 1]).long()
losses = []
for _ in range(40):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print("loss", losses[0], losses[-1])
