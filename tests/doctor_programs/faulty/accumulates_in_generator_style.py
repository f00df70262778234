# expect: accumulation-not-averaged line 13, 16, 26
# step every third call, with a summed gradient.

import clew as torch
from clew import nn


class Accumulator:
    def __init__(self, opt, every):
        self.opt, self.every, self.n = opt, every, 0

    def __call__(self, loss):
        loss.backward()
        self.n += 1
        if self.n == self.every:
            self.opt.step()
            self.opt.zero_grad()
            self.n = 0


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
acc = Accumulator(torch.optim.SGD(net.parameters(), lr=0.02), every=3)
for i in range(45):
    x = torch.randn(8, 5)
    acc(nn.functional.mse_loss(net(x), x[:, :1]))
print(sum(p.norm().item() for p in net.parameters()))
