# expect: nothing
# Self-paced learning: each epoch all rows are scored, and a loader gives the easier ones of them.

import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

torch.manual_seed(11)
points = torch.randn(240, 3)
inside = (points.norm(dim=1) < 1.5).long()
rows = TensorDataset(points, inside)
net = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
each = nn.CrossEntropyLoss(reduction="none")
for epoch in range(8):
    with torch.no_grad():
        hardness = each(net(points), inside)
    easy = hardness.argsort()[: 100 + 15 * epoch].tolist()
    for x, y in DataLoader(Subset(rows, easy), batch_size=20, shuffle=True):
        optimizer.zero_grad()
        each(net(x), y).mean().backward()
        optimizer.step()
    print(epoch, hardness.mean().item())
