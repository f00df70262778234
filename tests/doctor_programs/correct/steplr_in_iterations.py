# expect: nothing
# The scheduler counts iterations and its step size says so.

import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR

torch.manual_seed(0)
x = torch.randn(320, 4)
y = x[:, :1] * x[:, 1:2]
net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
epochs, per_epoch = 5, 20
warm = LinearLR(opt, 0.1, total_iters=10)
cos = CosineAnnealingLR(opt, T_max=epochs * per_epoch - 10)
sched = SequentialLR(opt, [warm, cos], milestones=[10])
for epoch in range(epochs):
    for idx in torch.randperm(320).split(16):
        loss = nn.functional.mse_loss(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
    print(epoch, loss.item(), sched.get_last_lr()[0])
