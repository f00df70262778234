# expect: graph-leak line 14
# A logging callback keeps the loss tensors of every step.

import torch
from torch import nn


class History:
    def __init__(self):
        self.records = {"loss": [], "step": []}

    def on_batch_end(self, step, loss):
        self.records["step"].append(step)
        self.records["loss"].append(loss)


class Runner:
    def __init__(self, model, callbacks):
        self.model, self.callbacks = model, callbacks
        self.opt = torch.optim.SGD(model.parameters(), lr=0.1)

    def run(self, data, n):
        for step in range(n):
            x, y = data()
            loss = nn.functional.binary_cross_entropy_with_logits(self.model(x), y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            for c in self.callbacks:
                c.on_batch_end(step, loss)


def batch():
    x = torch.randn(32, 4)
    return x, (x.sum(1, keepdim=True) > 0).float()


torch.manual_seed(0)
h = History()
Runner(nn.Sequential(nn.Linear(4, 16), nn.ELU(), nn.Linear(16, 1)), [h]).run(batch, 40)
print(len(h.records["loss"]))
