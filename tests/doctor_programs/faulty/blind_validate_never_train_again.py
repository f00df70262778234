# expect: train-eval-mode line 10, 31
# evaluate() puts the model in eval mode and the next epochs train so.

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


def evaluate(net, loader):
    net.eval()
    good = n = 0
    with torch.no_grad():
        for x, y in loader:
            good += (net(x).argmax(1) == y).sum().item()
            n += len(y)
    return good / n


torch.manual_seed(0)
x = torch.randn(120, 10)
ds = TensorDataset(x, (x[:, 0] > 0).long())
tr, va = random_split(ds, [90, 30])
net = nn.Sequential(
    nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 2)
)
net.train()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(6):
    for xb, yb in DataLoader(tr, 30, shuffle=True):
        opt.zero_grad()
        nn.functional.cross_entropy(net(xb), yb).backward()
        opt.step()
    print(epoch, evaluate(net, DataLoader(va, 30)))
