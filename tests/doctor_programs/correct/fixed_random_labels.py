# expect: nothing
# Memorising random labels (a known experiment); pairs stay fixed over the epochs.

import clew as torch
from clew import nn

torch.manual_seed(0)
x = torch.randn(60, 8)
y = torch.randint(0, 3, (60,))
net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(20):
    for idx in torch.randperm(60).split(20):
        loss = nn.functional.cross_entropy(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
print(loss.item())
