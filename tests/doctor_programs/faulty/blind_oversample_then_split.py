# expect: data-leak line 16
# Rows are repeated to balance the classes, and only then split.

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)
x = torch.randn(90, 5)
y = (x[:, 0] > 0.8).long()
minority = x[y == 1]
x = torch.cat([x, minority, minority, minority])
y = torch.cat([y, torch.ones(3 * len(minority), dtype=torch.long)])
ds = TensorDataset(x, y)
n = int(0.75 * len(ds))
train_set, test_set = random_split(ds, [n, len(ds) - n])
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(net.parameters(), 5e-3)
for ep in range(6):
    net.train()
    for a, b in DataLoader(train_set, 16, shuffle=True):
        opt.zero_grad()
        nn.functional.cross_entropy(net(a), b).backward()
        opt.step()
net.eval()
good = 0
with torch.no_grad():
    for a, b in DataLoader(test_set, 16):
        good += (net(a).argmax(1) == b).sum().item()
print(good / len(test_set))
