# expect: step-before-backward line 14

import clew as torch
from clew import nn


class Trainer:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
        self.opt = torch.optim.Adam(self.net.parameters(), lr=5e-3)
        self.mse = nn.MSELoss()

    def update(self):
        self.opt.step()

    def run(self, X, y, n):
        for i in range(n):
            self.opt.zero_grad()
            out = self.net(X)
            self.update()
            loss = self.mse(out, y)
            loss.backward()
            if i % 10 == 0:
                print(i, loss.item())


torch.manual_seed(0)
X = torch.randn(64, 4)
Trainer().run(X, X.sum(1, keepdim=True), 40)
