# expect: train-eval-mode line 20
# The test accuracy is computed with dropout on.

import clew as torch
from clew import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Dropout(0.5))
        self.head = nn.Linear(48, 2)

    def forward(self, x):
        return self.head(self.body(x))


def accuracy(net, x, y):
    with torch.no_grad():
        pred = net(x).argmax(dim=1)
    return (pred == y).float().mean().item()


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
train_x, test_x = torch.randn(200, 6), torch.randn(80, 6)


def rule(t):
    return (t[:, 0] * t[:, 1] > 0).long()


for epoch in range(4):
    for i in range(0, 200, 25):
        xb = train_x[i : i + 25]
        loss = nn.functional.cross_entropy(net(xb), rule(xb))
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("test accuracy", accuracy(net, test_x, rule(test_x)))
