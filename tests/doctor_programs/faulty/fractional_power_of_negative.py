# expect: nan-origin line 10
# A fractional power of a negative pre-activation is NaN.

import torch
from torch import nn


class CubeRoot(nn.Module):
    def forward(self, x):
        return x.pow(1.0 / 3.0)


torch.manual_seed(326)
x = torch.rand(80, 3)
y = x.sum(dim=1, keepdim=True).sqrt()
first = nn.Linear(3, 12)
nn.init.uniform_(first.weight, 0.1, 0.5)
nn.init.constant_(first.bias, 0.5)
model = nn.Sequential(first, CubeRoot(), nn.Linear(12, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.95)
for epoch in range(40):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 5 == 0:
        print(epoch, loss.item())
