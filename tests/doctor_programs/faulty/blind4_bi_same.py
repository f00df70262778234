# expect: bad-init line 10, 12

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.W1 = nn.Parameter(torch.zeros(d, h))
        self.b1 = nn.Parameter(torch.zeros(h))
        self.W2 = nn.Parameter(torch.zeros(h, 1))
        self.b2 = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return torch.tanh(x @ self.W1 + self.b1) @ self.W2 + self.b2


torch.manual_seed(0)
net = Net(4, 16)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
X = torch.randn(128, 4)
y = X[:, :1] + 1
for ep in range(60):
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(X), y)
    loss.backward()
    opt.step()
print(loss.item())
