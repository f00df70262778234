# expect: train-eval-mode line 36
# The test accuracy is measured with dropout still active.

import torch
from torch import nn


class Runner:
    def __init__(self, p=0.5):
        torch.manual_seed(141)
        self.net = nn.Sequential(
            nn.Linear(12, 64),
            nn.ReLU(),
            nn.Dropout(p),
            nn.Linear(64, 64),
            nn.ReLU(),
            nn.Dropout(p),
            nn.Linear(64, 2),
        )
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=2e-3)
        x = torch.randn(300, 12)
        y = (x[:, 0] * x[:, 1] + x[:, 2] > 0).long()
        self.train_x, self.test_x = x[:220], x[220:]
        self.train_y, self.test_y = y[:220], y[220:]

    def train_epoch(self):
        for xb, yb in zip(self.train_x.split(44), self.train_y.split(44)):
            loss = nn.functional.cross_entropy(self.net(xb), yb)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.item()

    def test(self):
        with torch.no_grad():
            predicted = self.net(self.test_x).argmax(dim=1)
        return (predicted == self.test_y).float().mean().item()


runner = Runner()
for epoch in range(8):
    loss = runner.train_epoch()
    print(f"epoch {epoch} loss {loss:.4f} test accuracy {runner.test():.3f}")
