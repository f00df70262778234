# expect: data-leak line 12, 22, 23, 24

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)
imgs = torch.rand(120, 1, 8, 8)
lab = (imgs.mean((1, 2, 3)) > 0.5).long()
full = TensorDataset(imgs, lab)
tr, _ = random_split(full, [90, 30], generator=torch.Generator().manual_seed(1))
_, va = random_split(full, [90, 30], generator=torch.Generator().manual_seed(2))
net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for ep in range(4):
    for x, y in DataLoader(tr, batch_size=15, shuffle=True):
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        good = sum((net(x).argmax(1) == y).sum().item() for x, y in DataLoader(va, batch_size=30))
    print(ep, good / 30)
