# expect: nothing
# SAM: weights are perturbed in place, a second backward gives the gradient for the real step.

import torch
import torch.nn.functional as F
from torch import nn


class SAM:
    def __init__(self, params, base, rho=0.05):
        self.params, self.base, self.rho = list(params), base, rho

    @torch.no_grad()
    def perturb(self):
        norm = torch.stack([p.grad.norm() for p in self.params]).norm() + 1e-12
        self.offsets = [p.grad * (self.rho / norm) for p in self.params]
        for p, e in zip(self.params, self.offsets):
            p.add_(e)
        self.base.zero_grad()

    @torch.no_grad()
    def restore_and_step(self):
        for p, e in zip(self.params, self.offsets):
            p.sub_(e)
        self.base.step()
        self.base.zero_grad()


torch.manual_seed(401)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
sam = SAM(model.parameters(), torch.optim.SGD(model.parameters(), lr=0.2))
x = torch.randn(120, 6)
y = x[:, :3].argmax(1)
losses = []
for _ in range(12):
    for xb, yb in zip(x.split(40), y.split(40)):
        loss = F.cross_entropy(model(xb), yb)
        loss.backward()
        sam.perturb()
        F.cross_entropy(model(xb), yb).backward()
        sam.restore_and_step()
        losses.append(loss.item())
print(losses[0], losses[-1])
