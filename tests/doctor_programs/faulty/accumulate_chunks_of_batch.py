# expect: accumulation-not-averaged line 13, 14, 16
# A batch is split into 8 chunks whose mean losses are each back-propagated at full weight.

import torch
from torch import nn


def train_on(model, optimizer, x, y, n_chunks):
    """Splits the batch so that it fits into memory."""
    optimizer.zero_grad()
    total = 0.0
    for xc, yc in zip(x.chunk(n_chunks), y.chunk(n_chunks)):
        loss = nn.functional.mse_loss(model(xc), yc)
        loss.backward()
        total += loss.item()
    optimizer.step()
    return total / n_chunks


def main():
    torch.manual_seed(18)
    model = nn.Sequential(nn.Linear(10, 32), nn.SiLU(), nn.Linear(32, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    x = torch.randn(256, 10)
    y = torch.stack([x[:, 0] * x[:, 1], x[:, 2].abs()], dim=1)
    for epoch in range(12):
        value = train_on(model, optimizer, x, y, n_chunks=8)
        if epoch % 3 == 0:
            print("epoch", epoch, "loss", round(value, 4))


main()
