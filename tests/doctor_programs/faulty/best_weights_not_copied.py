# expect: aliased-buffer line 16
# Early stopping keeps a reference to the live state_dict.

import torch
from torch import nn


class EarlyStopping:
    def __init__(self, patience=3):
        self.patience, self.bad = patience, 0
        self.best, self.state = float("inf"), None

    def __call__(self, value, model):
        if value < self.best:
            self.best, self.bad = value, 0
            self.state = model.state_dict()
        else:
            self.bad += 1
        return self.bad >= self.patience


torch.manual_seed(0)
x, xv = torch.randn(60, 10), torch.randn(60, 10)
y, yv = x[:, :1] + torch.randn(60, 1), xv[:, :1] + torch.randn(60, 1)
net = nn.Sequential(nn.Linear(10, 50), nn.ReLU(), nn.Linear(50, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
stopper = EarlyStopping()
for epoch in range(60):
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        val = nn.functional.mse_loss(net(xv), yv).item()
    if stopper(val, net):
        break
net.load_state_dict(stopper.state)
print("restored", stopper.best)
