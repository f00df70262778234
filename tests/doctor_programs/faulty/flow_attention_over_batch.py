# expect: batch-mixing line 18, 19

import math
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Att(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Linear(6, 16)
        self.q, self.k, self.v = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 16)
        self.o = nn.Linear(16, 2)

    def forward(self, x):
        h = self.e(x)
        w = torch.softmax(self.q(h) @ self.k(h).t() / math.sqrt(16), dim=-1)
        h = h + w @ self.v(h)
        return self.o(h)


torch.manual_seed(0)
net = Att()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
X = torch.randn(160, 6)
for ep in range(4):
    for x, y in DataLoader(TensorDataset(X, (X[:, 0] > 0).long()), batch_size=32, shuffle=True):
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
