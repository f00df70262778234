# expect: repeated-data line 23
# The loader is begun anew in every step, so the model only ever sees its first batch.

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_loader(n=160):
    x = torch.randn(n, 5)
    return DataLoader(TensorDataset(x, (x[:, 0] > x[:, 1]).long()), batch_size=16)


def main(steps=30):
    torch.manual_seed(0)
    loader = make_loader()
    model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        x, y = next(iter(loader))
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(losses[0], losses[-1])


main()
