# expect: aliased-buffer line 15
# Early stopping keeps state_dict() itself, not a copy.

import torch
from torch import nn


class EarlyStopping:
    def __init__(self, patience=3):
        self.patience, self.best, self.bad, self.weights = patience, float("inf"), 0, None

    def __call__(self, value, model):
        if value < self.best:
            self.best, self.bad = value, 0
            self.weights = model.state_dict()
        else:
            self.bad += 1
        return self.bad >= self.patience


torch.manual_seed(0)
x, xv = torch.randn(60, 4), torch.randn(30, 4)


def f(t):
    return torch.sin(t).sum(1, keepdim=True)


model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=2e-2)
stopper = EarlyStopping()
for epoch in range(40):
    opt.zero_grad()
    nn.functional.mse_loss(model(x), f(x)).backward()
    opt.step()
    with torch.no_grad():
        val = nn.functional.mse_loss(model(xv), f(xv)).item()
    if stopper(val, model):
        break
model.load_state_dict(stopper.weights)
print(stopper.best)
