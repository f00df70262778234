# expect: inplace-saved-tensor line 19
# The running scale is updated in place after the multiplication that saved it.
# saved: line 16

import torch
from torch import nn


class RunningScale(nn.Module):
    def __init__(self, features, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("scale", torch.ones(features))

    def forward(self, x):
        out = x * self.scale
        if self.training:
            batch_scale = 1.0 / (x.detach().std(dim=0) + 1e-3)
            self.scale.mul_(1 - self.momentum).add_(self.momentum * batch_scale)
        return out


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(5, 16)
        self.scale = RunningScale(16)
        self.out = nn.Linear(16, 1)

    def forward(self, x):
        return self.out(torch.relu(self.scale(self.hidden(x))))


torch.manual_seed(71)
x = torch.randn(60, 5)
y = (x[:, :1] - x[:, 1:2]) * x[:, 2:3]
model = Regressor()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(8):
    for xb, yb in zip(x.split(20), y.split(20)):
        loss = nn.functional.mse_loss(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
