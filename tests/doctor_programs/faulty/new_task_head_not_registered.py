# expect: param-not-in-optimizer line 16, 25
# A head is added for the second task while the optimizer still holds only the first one's.

import torch
import torch.nn.functional as F
from torch import nn


class ContinualNet(nn.Module):
    def __init__(self, n_in=8):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_in, 32), nn.ReLU())
        self.heads = nn.ModuleDict()

    def add_task(self, name, classes):
        self.heads[name] = nn.Linear(32, classes)

    def forward(self, x, task):
        return self.heads[task](self.body(x))


torch.manual_seed(189)
net = ContinualNet()
net.add_task("parity", 2)
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)


def train_task(task, x, y, epochs=10):
    for _ in range(epochs):
        for xb, yb in zip(x.split(25), y.split(25)):
            net.zero_grad()
            loss = F.cross_entropy(net(xb, task), yb)
            loss.backward()
            optimizer.step()
    print(f"task {task}: loss {loss.item():.4f}")


x = torch.randn(100, 8)
train_task("parity", x, (x[:, 0] * x[:, 1] > 0).long())
net.add_task("argmax", 4)
train_task("argmax", x, x[:, :4].argmax(1))
