# expect: detached-graph line 9
# evaluate() switches gradients off for the whole process; the second epoch cannot backward.

import torch
from torch import nn


def accuracy(model, x, y):
    torch.set_grad_enabled(False)
    model.eval()
    correct = (model(x).argmax(1) == y).float().mean().item()
    model.train()
    return correct


def train(model, optimizer, x, y):
    for xb, yb in zip(x.split(25), y.split(25)):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    torch.manual_seed(35)
    x = torch.randn(200, 4)
    y = (x[:, 0] * x[:, 1] > 0).long()
    model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(5):
        train(model, optimizer, x[:150], y[:150])
        print("epoch", epoch, "accuracy", accuracy(model, x[150:], y[150:]))
