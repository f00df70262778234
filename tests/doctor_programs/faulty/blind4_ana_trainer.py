# expect: accumulation-not-averaged line 14, 15, 19

import clew as torch
from clew import nn


class Trainer:
    def __init__(self, model, lr=0.01, accum=4):
        self.model, self.accum = model, accum
        self.opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.n = 0

    def step(self, x, y):
        loss = nn.functional.cross_entropy(self.model(x), y)
        loss.backward()
        self.n += 1
        if self.n % self.accum == 0:
            nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
            self.opt.step()
            self.opt.zero_grad()
        return loss.item()


torch.manual_seed(2)
tr = Trainer(nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3)))
for k in range(120):
    x = torch.randn(16, 10)
    y = x[:, :3].argmax(1)
    l = tr.step(x, y)
    if k % 20 == 0:
        print(k, l)
