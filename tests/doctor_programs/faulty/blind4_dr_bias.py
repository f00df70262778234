# expect: dead-relu line 7, 8, 9, 10, 11, 13

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(
    nn.Linear(8, 32),
    nn.ReLU(),
    nn.Linear(32, 1),
)
with torch.no_grad():
    net[0].bias.fill_(-10.0)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
X = torch.randn(256, 8)
y = X.abs().sum(1, keepdim=True)
for ep in range(60):
    loss = nn.functional.mse_loss(net(X), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
