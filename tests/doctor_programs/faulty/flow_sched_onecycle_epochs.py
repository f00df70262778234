# expect: scheduler-misuse line 19

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(8, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
X = torch.randn(200, 8)
Y = (X[:, 0] > 0).long()
epochs, per_epoch = 6, 10
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=epochs)
for e in range(epochs):
    for i in range(per_epoch):
        loss = nn.functional.cross_entropy(net(X[i * 20 : (i + 1) * 20]), Y[i * 20 : (i + 1) * 20])
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
