# expect: step-before-backward line 16
# The step and the scheduler come first in the iteration, then the forward and backward.

import torch
from torch import nn


class Loop:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(4, 16), nn.GELU(), nn.Linear(16, 1))
        self.opt = torch.optim.AdamW(self.net.parameters(), lr=2e-3)

    def iteration(self, x, y):
        pred = self.net(x)
        loss = nn.functional.mse_loss(pred, y)
        self.opt.step()
        self.opt.zero_grad()
        loss.backward()
        return loss.detach()


torch.manual_seed(0)
loop = Loop()
for _ in range(25):
    x = torch.randn(16, 4)
    print(float(loop.iteration(x, x.sum(1, keepdim=True))))
