# expect: nothing

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)
X = torch.randn(300, 8)
Y = (X[:, 0] > 0).long()
tr, va = random_split(TensorDataset(X, Y), [240, 60])
tl = DataLoader(tr, batch_size=32, shuffle=True)
vl = DataLoader(va, batch_size=60)
net = nn.Sequential(
    nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 2)
)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
crit = nn.CrossEntropyLoss()
for epoch in range(5):
    net.train()
    total = 0.0
    for x, y in tl:
        opt.zero_grad()
        loss = crit(net(x), y)
        loss.backward()
        opt.step()
        total += loss.item() * x.size(0)
    net.eval()
    correct = 0
    with torch.no_grad():
        for x, y in vl:
            correct += (net(x).argmax(1) == y).sum().item()
    print(epoch, total / 240, correct / 60)
