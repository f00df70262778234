# expect: detached-graph line 14, 15

import clew as torch
from clew import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(5):
    losses = []
    for _ in range(8):
        x = torch.randn(20, 6)
        y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
        losses.append(nn.functional.cross_entropy(net(x), y).item())
    total = torch.tensor(losses, requires_grad=True).mean()
    opt.zero_grad()
    total.backward()
    opt.step()
    print(epoch, total.item())
