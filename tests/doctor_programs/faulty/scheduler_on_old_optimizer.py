# expect: scheduler-misuse line 15, 28
# After unfreezing a new optimizer is used, the scheduler still drives the old one.

import torch
from torch import nn


class FineTuner:
    def __init__(self):
        torch.manual_seed(118)
        self.backbone = nn.Sequential(nn.Linear(8, 24), nn.ReLU())
        self.head = nn.Linear(24, 3)
        self.backbone.requires_grad_(False)
        self.optimizer = torch.optim.AdamW(self.head.parameters(), lr=1e-2)
        self.scheduler = torch.optim.lr_scheduler.ExponentialLR(self.optimizer, gamma=0.8)

    def unfreeze(self):
        self.backbone.requires_grad_(True)
        params = [*self.backbone.parameters(), *self.head.parameters()]
        self.optimizer = torch.optim.AdamW(params, lr=5e-3)

    def train_epoch(self, x, y):
        for xb, yb in zip(x.split(30), y.split(30)):
            loss = nn.functional.cross_entropy(self.head(self.backbone(xb)), yb)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        self.scheduler.step()
        return loss.item()


tuner = FineTuner()
x = torch.randn(120, 8)
y = x[:, 4:7].argmax(1)
for epoch in range(10):
    if epoch == 3:
        tuner.unfreeze()
    value = tuner.train_epoch(x, y)
    print(epoch, round(value, 4), tuner.optimizer.param_groups[0]["lr"])
