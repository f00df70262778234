# expect: missing-zero-grad line 18, 20, 21
# zero_grad() is called on the saved best copy and not on the model that trains.

import copy

import torch
from torch import nn


class Runner:
    def __init__(self, net):
        self.net = net
        self.best = copy.deepcopy(net)
        self.best_loss = float("inf")
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.03)

    def batch(self, x, y):
        self.best.zero_grad()
        loss = nn.functional.mse_loss(self.net(x), y)
        loss.backward()
        self.opt.step()
        return loss.item()

    def fit(self, x, y, epochs):
        for epoch in range(epochs):
            total = sum(self.batch(a, b) for a, b in zip(x.split(25), y.split(25)))
            if total < self.best_loss:
                self.best_loss = total
                self.best.load_state_dict(self.net.state_dict())
            print(epoch, round(total, 4))


torch.manual_seed(300)
x = torch.randn(100, 4)
y = x[:, :1] + x[:, 1:2] ** 2
Runner(nn.Sequential(nn.Linear(4, 20), nn.ReLU(), nn.Linear(20, 1))).fit(x, y, 6)
