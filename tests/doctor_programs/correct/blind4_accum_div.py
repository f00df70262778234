# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
ACC = 4
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
X = torch.randn(512, 10)
y = X[:, :1] - 0.5 * X[:, 1:2]
opt.zero_grad()
for ep in range(5):
    for k, i in enumerate(torch.randperm(512).split(16)):
        loss = nn.functional.mse_loss(net(X[i]), y[i])
        (loss / ACC).backward()
        if (k + 1) % ACC == 0:
            opt.step()
            opt.zero_grad()
    print(ep, loss.item())
