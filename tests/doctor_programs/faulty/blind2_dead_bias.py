# expect: dead-relu line 7, 8, 9, 10, 11, 12

import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(
    nn.Linear(8, 32),
    nn.ReLU(),
    nn.Linear(32, 1),
)
nn.init.constant_(net[0].bias, -8.0)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(40):
    x = torch.randn(64, 8)
    y = x.sum(1, keepdim=True)
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
