# expect: inplace-saved-tensor line 18
# The residual is added in place onto the sigmoid's output, which backward still needs.
# saved: line 17

import torch
from torch import nn

torch.manual_seed(66)


class GatedResidual(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.lin = nn.Linear(dim, dim)

    def forward(self, x):
        gate = torch.sigmoid(self.lin(x))
        gate += x
        return gate


net = nn.Sequential(nn.Linear(4, 16), GatedResidual(16), nn.Linear(16, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
x = torch.randn(50, 4)
y = x.sum(1, keepdim=True).cos()
for epoch in range(10):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
