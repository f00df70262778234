# expect: nothing

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, SWALR

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=8)
avg = AveragedModel(net)
swa_sched = SWALR(opt, swa_lr=0.02, anneal_epochs=2)
X = torch.randn(256, 5)
y = X[:, :1] * 2 - X[:, 1:2].abs()
for ep in range(12):
    for i in torch.randperm(256).split(32):
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(X[i]), y[i])
        loss.backward()
        opt.step()
    if ep >= 8:
        avg.update_parameters(net)
        swa_sched.step()
    else:
        sched.step()
    print(ep, loss.item())
