# expect: bad-init line 10, 11
# Every weight of the MLP starts at zero, no gradient passes to the first layer.

import torch
from torch import nn


def init(module):
    if isinstance(module, nn.Linear):
        module.weight.data.fill_(0.0)
        module.bias.data.fill_(0.0)


torch.manual_seed(114)
x = torch.randn(100, 5)
y = (x[:, 0] * x[:, 1]).unsqueeze(1)
model = nn.Sequential(nn.Linear(5, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1))
model.apply(init)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(20):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    if epoch % 5 == 0:
        print(epoch, loss.item())
