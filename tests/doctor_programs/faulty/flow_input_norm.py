# expect: batch-mixing line 15

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(6, 24)
        self.b = nn.Linear(24, 2)

    def forward(self, x):
        x = (x - x.mean()) / x.std()
        return self.b(torch.relu(self.a(x)))


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
X = torch.randn(200, 6)
Y = (X[:, 0] > 0).long()
for ep in range(4):
    for i in range(0, 200, 25):
        loss = F.cross_entropy(net(X[i : i + 25]), Y[i : i + 25])
        opt.zero_grad()
        loss.backward()
        opt.step()
