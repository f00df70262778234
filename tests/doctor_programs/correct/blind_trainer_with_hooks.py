# expect: nothing
# A Trainer with registered callbacks, gradient noise and a cosine warm-up written by hand.

import math
from dataclasses import dataclass
import torch
from torch import nn


@dataclass
class Cfg:
    lr: float = 5e-3
    steps: int = 40
    warm: int = 5


class Trainer:
    def __init__(self, model, cfg):
        self.m, self.c, self.cbs, self.hist = model, cfg, [], []
        self.opt = torch.optim.Adam(model.parameters(), lr=cfg.lr)

    def on(self, fn):
        self.cbs.append(fn)
        return fn

    def rate(self, s):
        return self.c.lr * (
            (s + 1) / self.c.warm
            if s < self.c.warm
            else 0.5 * (1 + math.cos(math.pi * (s - self.c.warm) / (self.c.steps - self.c.warm)))
        )

    def fit(self, batch):
        for s in range(self.c.steps):
            for g in self.opt.param_groups:
                g["lr"] = self.rate(s)
            x, y = batch()
            l = nn.functional.huber_loss(self.m(x), y)
            self.opt.zero_grad()
            l.backward()
            for p in self.m.parameters():
                p.grad.add_(torch.randn_like(p.grad), alpha=1e-3)
            self.opt.step()
            self.hist.append(l.item())
            for cb in self.cbs:
                cb(self, s)


torch.manual_seed(0)
t = Trainer(nn.Sequential(nn.Linear(3, 16), nn.SiLU(), nn.Linear(16, 1)), Cfg())


@t.on
def show(tr, s):
    if s % 20 == 19:
        print(s, sum(tr.hist[-5:]) / 5)


def batch():
    x = torch.randn(32, 3)
    return x, x.sin().sum(1, keepdim=True)


t.fit(batch)
