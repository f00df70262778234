# expect: data-leak line 14
# Training takes rows by a permutation, the test set takes the last rows of the unshuffled table.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(618)
table = torch.randn(300, 6)
labels = (table[:, 0] * table[:, 1] > 0).long()
order = torch.randperm(300)
n_train = 240
x_train, y_train = table[order[:n_train]], labels[order[:n_train]]
x_test, y_test = table[n_train:], labels[n_train:]

model = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(10):
    model.train()
    for xb, yb in zip(x_train.split(60), y_train.split(60)):
        loss = F.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        accuracy = (model(x_test).argmax(1) == y_test).float().mean().item()
    print(epoch, loss.item(), accuracy)
