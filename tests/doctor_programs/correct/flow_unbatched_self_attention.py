# expect: nothing

import math
import torch
import torch.nn as nn


class Att(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(20, 16)
        self.q, self.k, self.v = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 16)
        self.o = nn.Linear(16, 3)

    def forward(self, t):
        h = self.e(t)
        w = torch.softmax(self.q(h) @ self.k(h).t() / math.sqrt(16), dim=-1)
        return self.o(h + w @ self.v(h))


torch.manual_seed(0)
net = Att()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(40):
    t = torch.randint(0, 20, (15,))
    loss = nn.functional.cross_entropy(net(t), t % 3)
    opt.zero_grad()
    loss.backward()
    opt.step()
