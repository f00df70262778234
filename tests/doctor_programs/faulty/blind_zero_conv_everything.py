# expect: bad-init line 16
# Both layers of the MLP start at zero, so no gradient passes.

import torch
from torch import nn


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 16), nn.Linear(16, 1)
        self.reset()

    def reset(self):
        for layer in (self.a, self.b):
            layer.weight.data.zero_()
            layer.bias.data.zero_()

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


torch.manual_seed(0)
net = Head()
opt = torch.optim.SGD(net.parameters(), 0.05)
x = torch.randn(64, 6)
for _ in range(20):
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(x), x[:, :1] * 2 + 1)
    loss.backward()
    opt.step()
print(loss.item())
