# expect: clip-misplaced line 25
# The engine clips in a callback that runs after the update.

import torch
from torch import nn


class Engine:
    def __init__(self, net):
        self.net = net
        self.opt = torch.optim.SGD(net.parameters(), lr=0.05)
        self.after_step = []

    def run(self, batches):
        for x, y in batches:
            self.opt.zero_grad()
            loss = nn.functional.l1_loss(self.net(x), y)
            loss.backward()
            self.opt.step()
            for callback in self.after_step:
                callback(self)


def clip_callback(engine):
    nn.utils.clip_grad_norm_(engine.net.parameters(), max_norm=0.5)


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 30), nn.ReLU(), nn.Linear(30, 1))
engine = Engine(net)
engine.after_step.append(clip_callback)
engine.run([(x, x.prod(1, keepdim=True)) for x in torch.randn(30, 16, 3).unbind(0)])
print(sum(p.abs().sum().item() for p in net.parameters()))
