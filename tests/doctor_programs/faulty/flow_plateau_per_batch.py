# expect: scheduler-misuse line 18

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
sched = torch.optim.lr_scheduler.StepLR(opt, step_size=3, gamma=0.1)
X = torch.randn(256, 6)
Y = X[:, :1].sin()
for epoch in range(9):
    for i in range(0, 256, 32):
        loss = nn.functional.mse_loss(net(X[i : i + 32]), Y[i : i + 32])
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
    print(epoch, loss.item(), opt.param_groups[0]["lr"])
