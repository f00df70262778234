# expect: batch-mixing line 15

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(10, 32)
        self.b = nn.Linear(32, 3)

    def forward(self, x):
        h = torch.relu(self.a(x))
        h = h / h.sum(dim=0, keepdim=True).clamp_min(1e-6)
        return self.b(h)


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(40):
    x = torch.randn(32, 10)
    y = x[:, :3].argmax(1)
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
