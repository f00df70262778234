# expect: nothing
# A batch normalisation layer written by hand, with running statistics for evaluation.

import torch
import torch.nn.functional as F
from torch import nn


class MyBatchNorm(nn.Module):
    def __init__(self, features, momentum=0.1, eps=1e-5):
        super().__init__()
        self.gamma, self.beta = (
            nn.Parameter(torch.ones(features)),
            nn.Parameter(torch.zeros(features)),
        )
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("var", torch.ones(features))
        self.momentum, self.eps = momentum, eps

    def forward(self, x):
        if self.training:
            mean, var = x.mean(dim=0), x.var(dim=0, unbiased=False)
            with torch.no_grad():
                self.mean.lerp_(mean, self.momentum)
                self.var.lerp_(var, self.momentum)
        else:
            mean, var = self.mean, self.var
        return self.gamma * (x - mean) / torch.sqrt(var + self.eps) + self.beta


torch.manual_seed(502)
x = torch.randn(200, 6) * 3 + 2
y = (x[:, 0] > x[:, 1]).long()
model = nn.Sequential(nn.Linear(6, 24), MyBatchNorm(24), nn.ReLU(), nn.Linear(24, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
losses = []
for _ in range(10):
    model.train()
    for xb, yb in zip(x[:160].split(40), y[:160].split(40)):
        loss = F.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        held_out = F.cross_entropy(model(x[160:]), y[160:]).item()
print("held out", held_out)
print(losses[0], losses[-1])
