# expect: data-leak line 14
# Training and test indices come from two independent permutations and overlap.

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset


def split(dataset, fraction=0.75):
    n = len(dataset)
    n_train = int(n * fraction)
    train = Subset(dataset, torch.randperm(n)[:n_train].tolist())
    test = Subset(dataset, torch.randperm(n)[n_train:].tolist())
    return train, test


def evaluate(model, loader):
    model.eval()
    hits = total = 0
    with torch.no_grad():
        for x, y in loader:
            hits += (model(x).argmax(1) == y).sum().item()
            total += len(y)
    model.train()
    return hits / total


torch.manual_seed(151)
x = torch.randn(240, 6)
y = (x[:, 0] > 0).long() + (x[:, 1] + x[:, 2] > 0).long()
train_set, test_set = split(TensorDataset(x, y))
train_loader = DataLoader(train_set, batch_size=30, shuffle=True)
test_loader = DataLoader(test_set, batch_size=30)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(5):
    for xb, yb in train_loader:
        loss = F.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item(), evaluate(model, test_loader))
