# expect: nothing
# Losses, outputs and norms are kept for plots, all detached or as numbers.

import torch
from torch import nn


class Logger:
    def __init__(self):
        self.losses, self.outputs, self.norms = [], [], []

    def log(self, loss, output, model):
        self.losses.append(loss.detach())
        self.outputs.append(output.detach().mean(dim=0))
        self.norms.append({n: p.grad.norm().item() for n, p in model.named_parameters()})


torch.manual_seed(212)
x = torch.randn(90, 6)
y = torch.stack([x[:, 0], x[:, 1] * x[:, 2]], dim=1)
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
logger = Logger()
total = 0.0
for _ in range(40):
    output = model(x)
    loss = nn.functional.mse_loss(output, y)
    optimizer.zero_grad()
    loss.backward()
    logger.log(loss, output, model)
    optimizer.step()
    total += loss.detach()
print("mean", (total / 40).item(), "max norm", max(logger.norms[-1].values()))
print("loss", logger.losses[0].item(), logger.losses[-1].item())
