# expect: nothing
# Thirty residual layers: gradients stay of the same size.

import torch
from torch import nn


class Res(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.f = nn.Linear(d, d)

    def forward(self, x):
        return x + 0.2 * torch.tanh(self.f(x))


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 16), *(Res(16) for _ in range(30)), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(20):
    x = torch.randn(16, 4)
    loss = nn.functional.mse_loss(net(x), x[:, :1])
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
