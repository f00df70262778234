# expect: nothing
# In-place ReLU after a linear layer, += on a result nobody saved, clone before writing.

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.a, self.b = nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        h = F.relu(self.a(x), inplace=True)
        h = self.b(h)
        h += x
        return h


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(6, 16)
        self.block = Block(16)
        self.out = nn.Linear(16, 2)

    def forward(self, x):
        x = x.clone()
        x[:, 0] = 0.0
        return self.out(self.block(torch.tanh(self.inp(x))))


torch.manual_seed(259)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
x = torch.randn(90, 6)
y = (x[:, 1] * x[:, 2] > 0).long()
losses = []
for _ in range(40):
    optimizer.zero_grad(set_to_none=True)
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
