# expect: target-not-detached line 26, 27
# The EMA target branch of BYOL is evaluated with gradients, the loss flows into it.

import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(63)


def mlp(a, b, c):
    return nn.Sequential(nn.Linear(a, b), nn.ReLU(), nn.Linear(b, c))


class BYOL(nn.Module):
    def __init__(self):
        super().__init__()
        self.online = mlp(10, 32, 8)
        self.predictor = mlp(8, 16, 8)
        self.target = copy.deepcopy(self.online)

    def forward(self, view1, view2):
        prediction = F.normalize(self.predictor(self.online(view1)), dim=1)
        goal = F.normalize(self.target(view2), dim=1)
        return (2 - 2 * (prediction * goal).sum(dim=1)).mean()

    @torch.no_grad()
    def update_target(self, tau=0.95):
        for p, q in zip(self.online.parameters(), self.target.parameters()):
            q.mul_(tau).add_(p, alpha=1 - tau)


def augment(x):
    return x + 0.2 * torch.randn_like(x)


model = BYOL()
trained = [*model.online.parameters(), *model.predictor.parameters()]
optimizer = torch.optim.Adam(trained, lr=2e-3)
data = torch.randn(96, 10)
for epoch in range(8):
    for batch in data.split(32):
        loss = model(augment(batch), augment(batch)) + model(augment(batch), augment(batch))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.update_target()
    print(epoch, loss.item())
