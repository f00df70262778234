# expect: data-leak line 31, 34
# The folds overlap: the validation slice starts too early.

import clew as torch
from clew import nn
from clew.utils.data import DataLoader, Subset, TensorDataset


def folds(n, k, i):
    size = n // k
    valid = list(range(max(0, i * size - 5), (i + 1) * size))
    train = [j for j in range(n) if j < i * size or j >= (i + 1) * size]
    return train, valid


def evaluate(net, loader):
    net.eval()
    hits = total = 0
    with torch.no_grad():
        for x, y in loader:
            hits += (net(x).argmax(1) == y).sum().item()
            total += len(y)
    net.train()
    return hits / total


torch.manual_seed(0)
x = torch.randn(100, 4)
ds = TensorDataset(x, (x[:, 0] > x[:, 1]).long())
tr, va = folds(100, 5, 2)
train_set, valid_set = Subset(ds, tr), Subset(ds, va)
net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
valid_loader = DataLoader(valid_set, batch_size=25)
for epoch in range(5):
    for xb, yb in DataLoader(train_set, batch_size=16, shuffle=True):
        loss = nn.functional.cross_entropy(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, evaluate(net, valid_loader))
