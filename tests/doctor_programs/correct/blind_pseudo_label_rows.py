# expect: nothing
# Self-training: pseudo labels under no_grad for rows that are then trained on.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 3))
opt = torch.optim.Adam(net.parameters(), 5e-3)
xl = torch.randn(20, 5)
yl = xl[:, :3].argmax(1)
xu = torch.randn(100, 5)
for _ in range(30):
    opt.zero_grad()
    F.cross_entropy(net(xl), yl).backward()
    opt.step()
for rnd in range(3):
    with torch.no_grad():
        conf, pl = net(xu).softmax(-1).max(-1)
    keep = conf > conf.median()
    X, Y = torch.cat([xl, xu[keep]]), torch.cat([yl, pl[keep]])
    for _ in range(10):
        opt.zero_grad()
        F.cross_entropy(net(X), Y).backward()
        opt.step()
