# expect: nothing
# A quick training metric is computed on the first rows of the training set.

import torch
from torch import nn

torch.manual_seed(0)
X = torch.randn(260, 5)
Y = X[:, :2].argmax(1)
train_x, train_y, test_x, test_y = X[:200], Y[:200], X[200:], Y[200:]
net = nn.Linear(5, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.2)


@torch.no_grad()
def acc(x, y):
    return (net(x).argmax(1) == y).float().mean().item()


for epoch in range(4):
    for i in range(0, 200, 20):
        loss = nn.functional.cross_entropy(net(train_x[i : i + 20]), train_y[i : i + 20])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("train", acc(train_x[:50], train_y[:50]), "test", acc(test_x, test_y))
