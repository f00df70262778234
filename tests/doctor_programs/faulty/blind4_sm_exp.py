# expect: scheduler-misuse line 9, 19

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.9)
X = torch.randn(640, 6)
y = X[:, :1] * 2
num_epochs = 5
for epoch in range(num_epochs):
    for xb, yb in zip(X.split(16), y.split(16)):
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(xb), yb)
        loss.backward()
        opt.step()
        scheduler.step()
    print(epoch, loss.item())
