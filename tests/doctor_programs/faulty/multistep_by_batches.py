# expect: scheduler-misuse line 13, 22
# Milestones are epochs, the scheduler moves with every batch.

import torch
from torch import nn

torch.manual_seed(0)
EPOCHS = 12
x = torch.randn(256, 4)
y = x.pow(2).sum(1, keepdim=True)
net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.02)
sched = torch.optim.lr_scheduler.MultiStepLR(opt, milestones=[6, 9, 11], gamma=0.1)


def train_epoch():
    for i in range(0, 256, 16):
        loss = nn.functional.mse_loss(net(x[i : i + 16]), y[i : i + 16])
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
    return loss.item()


for epoch in range(EPOCHS):
    print(epoch, train_epoch(), sched.get_last_lr())
