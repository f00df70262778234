# expect: param-not-in-optimizer line 12, 20

import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 8))
        self.proto = torch.randn(3, 8, requires_grad=True)

    def forward(self, x):
        return -torch.cdist(self.f(x), self.proto)


torch.manual_seed(0)
m = Net()
opt = torch.optim.Adam(m.parameters(), lr=3e-3)
for i in range(80):
    x = torch.randn(32, 6)
    m.proto.grad = None
    loss = F.cross_entropy(m(x), x[:, :3].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
