# expect: retain-graph-misuse line 13, 22

import clew as torch
from clew import nn


class Trainer:
    def __init__(self, net):
        self.net = net
        self.opt = torch.optim.Adam(net.parameters(), lr=3e-3)

    def backward(self, loss):
        loss.backward(retain_graph=True)

    def fit(self, X, Y, epochs=3, bs=32):
        for e in range(epochs):
            for i in range(0, len(X), bs):
                recon = self.net(X[i : i + bs])
                loss = nn.functional.mse_loss(recon, Y[i : i + bs])
                reg = 1e-4 * sum(p.pow(2).sum() for p in self.net.parameters())
                self.opt.zero_grad()
                self.backward(loss + reg)
                self.opt.step()
            print(e, loss.item())


torch.manual_seed(0)
data = torch.randn(256, 4) @ torch.randn(4, 16)
Trainer(nn.Sequential(nn.Linear(16, 8), nn.ELU(), nn.Linear(8, 16))).fit(data, data)
