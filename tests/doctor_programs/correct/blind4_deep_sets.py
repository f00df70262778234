# expect: nothing

import torch
from torch import nn


class DeepSets(nn.Module):
    def __init__(self):
        super().__init__()
        self.phi = nn.Sequential(nn.Linear(2, 24), nn.ReLU(), nn.Linear(24, 24))
        self.rho = nn.Sequential(nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, x, mask):
        h = self.phi(x) * mask.unsqueeze(-1)
        return self.rho(h.sum(1) / mask.sum(1, keepdim=True))


torch.manual_seed(0)
m = DeepSets()
opt = torch.optim.Adam(m.parameters(), lr=5e-3)
for i in range(80):
    x = torch.randn(32, 6, 2)
    k = torch.randint(2, 7, (32, 1))
    mask = (torch.arange(6) < k).float()
    y = (x[..., 0] * mask).sum(1, keepdim=True) / k
    loss = nn.functional.mse_loss(m(x, mask), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 20 == 0:
        print(i, loss.item())
