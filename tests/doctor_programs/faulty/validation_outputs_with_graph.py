# expect: graph-leak line 33
# Validation runs with gradients on and collects the outputs, with their graphs, over all epochs.

import torch
from torch import nn

torch.manual_seed(75)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
        self.g = nn.Linear(48, 1)

    def forward(self, x):
        return self.g(self.f(x))


x = torch.randn(300, 6)
y = x[:, :2].prod(dim=1, keepdim=True)
x_train, y_train, x_val, y_val = x[:200], y[:200], x[200:], y[200:]
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
all_predictions = []


def validate():
    total = 0.0
    net.eval()
    for xb, yb in zip(x_val.split(20), y_val.split(20)):
        out = net(xb)
        all_predictions.append(out)
        total += (out - yb).pow(2).sum().item()
    net.train()
    return total / len(x_val)


for epoch in range(10):
    for xb, yb in zip(x_train.split(50), y_train.split(50)):
        optimizer.zero_grad()
        loss = (net(xb) - yb).pow(2).mean()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item(), validate())
