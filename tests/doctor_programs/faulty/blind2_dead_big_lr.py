# expect: dead-relu or bad-learning-rate line 7, 8

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.8)
X = torch.rand(100, 6) * 4
y = X.sum(1, keepdim=True) * 2
for i in range(60):
    loss = nn.functional.mse_loss(net(X), y)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 5.0)
    opt.step()
print(loss.item())
