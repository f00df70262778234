# expect: missing-zero-grad line 19, 21, 22
# After the optimizer was replaced the loop still clears the first one, which holds only the head.

import torch
import torch.nn.functional as F
from torch import nn


class Tuner:
    def __init__(self):
        torch.manual_seed(900)
        self.body = nn.Sequential(nn.Linear(8, 24), nn.ReLU())
        self.head = nn.Linear(24, 3)
        self.warm = torch.optim.SGD(self.head.parameters(), lr=0.1)
        self.full = torch.optim.SGD([*self.body.parameters(), *self.head.parameters()], lr=0.05)

    def epoch(self, x, y, optimizer):
        for xb, yb in zip(x.split(30), y.split(30)):
            self.warm.zero_grad()
            loss = F.cross_entropy(self.head(self.body(xb)), yb)
            loss.backward()
            optimizer.step()
        return loss.item()


tuner = Tuner()
x = torch.randn(120, 8)
y = x[:, :3].argmax(1)
for epoch in range(8):
    tuner.body.requires_grad_(epoch >= 3)
    value = tuner.epoch(x, y, tuner.warm if epoch < 3 else tuner.full)
    print(epoch, value)
