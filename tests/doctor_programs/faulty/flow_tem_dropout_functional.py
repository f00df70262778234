# expect: train-eval-mode line 15

import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 32)
        self.b = nn.Linear(32, 3)

    def forward(self, x):
        return self.b(F.dropout(F.relu(self.a(x)), 0.5))


torch.manual_seed(0)
m = Net()
opt = torch.optim.Adam(m.parameters(), lr=1e-3)
X = torch.randn(200, 8)
Y = X[:, :3].argmax(1)
for ep in range(4):
    m.train()
    for i in range(0, 160, 32):
        loss = F.cross_entropy(m(X[i : i + 32]), Y[i : i + 32])
        opt.zero_grad()
        loss.backward()
        opt.step()
    m.eval()
    with torch.no_grad():
        print((m(X[160:]).argmax(1) == Y[160:]).float().mean())
