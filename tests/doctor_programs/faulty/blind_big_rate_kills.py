# expect: dead-relu or bad-learning-rate line 8, 9
# One giant step in the beginning kills the hidden ReLUs.

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=1.5)
X = torch.rand(64, 4) + 1
Y = X.sum(1, keepdim=True) * 3
for _ in range(30):
    loss = nn.functional.mse_loss(net(X), Y)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 5.0)
    opt.step()
print(loss.item())
