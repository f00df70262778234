# expect: nothing

import clew as torch
import clew.nn as nn
import clew.nn.functional as F


class Siam(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 4))

    def forward(self, a, b):
        return F.pairwise_distance(self.f(a), self.f(b))


torch.manual_seed(0)
net = Siam()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
C = torch.randn(5, 6) * 2
for it in range(80):
    i, j = torch.randint(0, 5, (32,)), torch.randint(0, 5, (32,))
    same = (i == j).float()
    d = net(C[i] + 0.3 * torch.randn(32, 6), C[j] + 0.3 * torch.randn(32, 6))
    loss = (same * d.pow(2) + (1 - same) * F.relu(1.0 - d).pow(2)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 20 == 0:
        print(it, loss.item())
