# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
X = torch.randn(200, 5)
y = X @ torch.randn(5, 1)
net = nn.Linear(5, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
sch = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=2)
for ep in range(25):
    for i in torch.randperm(160).split(32):
        opt.zero_grad()
        l = nn.functional.mse_loss(net(X[i]), y[i])
        l.backward()
        opt.step()
    with torch.no_grad():
        v = nn.functional.mse_loss(net(X[160:]), y[160:])
    sch.step(v)
print(v.item())
