# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9)
sch = torch.optim.lr_scheduler.StepLR(opt, step_size=4, gamma=0.3)
X = torch.randn(256, 8)
y = (X[:, 0] > X[:, 1]).long()
for ep in range(12):
    for xb, yb in zip(X.split(32), y.split(32)):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(xb), yb)
        loss.backward()
        opt.step()
    sch.step()
    print(ep, loss.item(), sch.get_last_lr()[0])
