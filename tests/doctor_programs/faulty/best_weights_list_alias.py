# expect: aliased-buffer line 17
# The list of "best" parameters contains the live parameters themselves.

import torch
from torch import nn


class Keeper:
    def __init__(self, model):
        self.model = model
        self.best_loss = float("inf")
        self.best_params = None

    def observe(self, loss):
        if loss < self.best_loss:
            self.best_loss = loss
            self.best_params = [p.data for p in self.model.parameters()]

    def restore(self):
        for p, best in zip(self.model.parameters(), self.best_params):
            p.data.copy_(best)


torch.manual_seed(340)
x = torch.randn(120, 5)
y = x[:, :1] + 0.5 * torch.randn(120, 1)
x_train, y_train, x_val, y_val = x[:40], y[:40], x[40:], y[40:]
model = nn.Sequential(nn.Linear(5, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
keeper = Keeper(model)
for _ in range(40):
    loss = nn.functional.mse_loss(model(x_train), y_train)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        keeper.observe(nn.functional.mse_loss(model(x_val), y_val).item())
keeper.restore()
with torch.no_grad():
    print(keeper.best_loss, nn.functional.mse_loss(model(x_val), y_val).item())
