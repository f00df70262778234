# expect: nothing

import torch
from torch import nn
import torch.nn.functional as F


class Exits(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 32), nn.Linear(32, 32)
        self.ea, self.eb = nn.Linear(32, 3), nn.Linear(32, 3)

    def forward(self, x):
        h = torch.relu(self.a(x))
        g = torch.relu(self.b(h))
        return self.ea(h), self.eb(g)


torch.manual_seed(0)
net = Exits()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(30):
    x = torch.randn(32, 8)
    y = x[:, :3].argmax(1)
    e, f = net(x)
    loss = (
        F.cross_entropy(e, y)
        + F.cross_entropy(f, y)
        + F.kl_div(F.log_softmax(e, 1), F.softmax(f.detach(), 1), reduction="batchmean")
    )
    opt.zero_grad()
    loss.backward()
    opt.step()
