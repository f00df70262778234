# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
epochs, nb = 5, 8
sch = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=1e-2, total_steps=epochs * nb)
X = torch.randn(256, 8)
y = X[:, :1].abs()
for ep in range(epochs):
    for i in torch.randperm(256).split(32):
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(X[i]), y[i])
        loss.backward()
        opt.step()
        sch.step()
    print(ep, loss.item())
