# expect: scheduler-misuse line 14, 28
# The optimizer is rebuilt when layers are unfrozen; the scheduler still turns the old one.

import torch
from torch import nn


class Tuner:
    def __init__(self, body, head):
        self.body, self.head = body, head
        for p in body.parameters():
            p.requires_grad_(False)
        self.opt = torch.optim.SGD(head.parameters(), lr=0.05)
        self.sched = torch.optim.lr_scheduler.ExponentialLR(self.opt, gamma=0.8)

    def unfreeze(self):
        for p in self.body.parameters():
            p.requires_grad_(True)
        everything = list(self.body.parameters()) + list(self.head.parameters())
        self.opt = torch.optim.SGD(everything, lr=0.02)

    def epoch(self, batches):
        for x, y in batches:
            loss = nn.functional.mse_loss(self.head(self.body(x)), y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
        self.sched.step()
        return loss.item()


torch.manual_seed(0)
tuner = Tuner(nn.Sequential(nn.Linear(4, 12), nn.Tanh()), nn.Linear(12, 1))
xs = torch.randn(8, 16, 4)
batches = [(x, x[:, :1] - x[:, 1:2]) for x in xs]
for e in range(8):
    if e == 2:
        tuner.unfreeze()
    print(e, tuner.epoch(batches))
