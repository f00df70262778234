# expect: detached-graph line 13, 14, 16
# The decorator of the evaluation function was copied onto the training function.

import torch
from torch import nn


@torch.no_grad()
def evaluate(model, x, y):
    return nn.functional.mse_loss(model(x), y).item()


@torch.no_grad()
def train_epoch(model, optimizer, x, y):
    for xb, yb in zip(x.split(32), y.split(32)):
        prediction = model(xb)
        loss = nn.functional.mse_loss(prediction, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main():
    torch.manual_seed(195)
    x = torch.randn(200, 3)
    y = x.prod(dim=1, keepdim=True)
    model = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(5):
        train_epoch(model, optimizer, x[:160], y[:160])
        print(epoch, evaluate(model, x[160:], y[160:]))


main()
