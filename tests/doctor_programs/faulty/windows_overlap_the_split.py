# expect: data-leak line 12, 15
# Rows are duplicated before the random split.

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)
x = torch.randn(80, 5)
x = torch.cat([x, x])
y = (x[:, 0] > 0).long()
train, test = random_split(TensorDataset(x, y), [120, 40])
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
test_loader = DataLoader(test, batch_size=40)
for epoch in range(4):
    net.train()
    for xb, yb in DataLoader(train, batch_size=20, shuffle=True):
        loss = nn.functional.cross_entropy(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        for xb, yb in test_loader:
            print(epoch, (net(xb).argmax(1) == yb).float().mean().item())
