# expect: scheduler-misuse line 11, 20

import torch
from torch import nn
from torch.optim.lr_scheduler import StepLR

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
epochs = 9
sched = StepLR(opt, step_size=3, gamma=0.1)  # decay every 3 epochs
X = torch.randn(320, 10)
Y = X[:, :4].argmax(1)
for epoch in range(epochs):
    for xb, yb in zip(X.split(32), Y.split(32)):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(xb), yb)
        loss.backward()
        opt.step()
        sched.step()
    print(epoch, loss.item(), sched.get_last_lr())
