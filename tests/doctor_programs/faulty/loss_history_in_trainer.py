# expect: graph-leak line 21
# The trainer appends loss tensors with their graphs to its history.

import torch
import torch.nn.functional as F
from torch import nn


class Trainer:
    def __init__(self, model, optimizer):
        self.model = model
        self.optimizer = optimizer
        self.history = {"loss": [], "lr": []}

    def step(self, batch, target):
        logits = self.model(batch)
        loss = F.cross_entropy(logits, target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.history["loss"].append(loss)
        self.history["lr"].append(self.optimizer.param_groups[0]["lr"])

    def report(self):
        recent = self.history["loss"][-10:]
        return sum(float(value.detach()) for value in recent) / len(recent)


torch.manual_seed(73)
model = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 4))
trainer = Trainer(model, torch.optim.SGD(model.parameters(), lr=0.1))
x = torch.randn(200, 10)
y = x[:, :4].argmax(1)
for step in range(60):
    pick = torch.randint(0, 200, (25,))
    trainer.step(x[pick], y[pick])
    if (step + 1) % 20 == 0:
        print(step + 1, trainer.report())
