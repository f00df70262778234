# expect: nothing

import torch
import torch.nn as nn


class SetNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.phi = nn.Linear(3, 16)
        self.rho = nn.Linear(16, 1)

    def forward(self, pts):
        pts = pts - pts.mean(0)
        h = torch.relu(self.phi(pts))
        h = h / h.norm()
        return self.rho(h.mean(0))


torch.manual_seed(0)
net = SetNet()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(40):
    n = int(torch.randint(10, 30, (1,)))
    pts = torch.randn(n, 3) * (1 + i % 3)
    loss = nn.functional.mse_loss(net(pts), torch.tensor([float(i % 3)]))
    opt.zero_grad()
    loss.backward()
    opt.step()
