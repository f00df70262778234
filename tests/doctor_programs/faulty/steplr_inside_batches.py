# expect: scheduler-misuse line 14, 21
# step_size counts epochs, but step() runs for each batch.

import torch
import torch.nn as nn
from torch.optim.lr_scheduler import StepLR

torch.manual_seed(0)
x = torch.randn(320, 6)
y = (x.abs().sum(1) > 5).long()
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
num_epochs = 10
scheduler = StepLR(opt, step_size=3, gamma=0.1)
for epoch in range(num_epochs):
    for i in range(0, 320, 16):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(x[i : i + 16]), y[i : i + 16])
        loss.backward()
        opt.step()
        scheduler.step()
    print(epoch, loss.item(), opt.param_groups[0]["lr"])
