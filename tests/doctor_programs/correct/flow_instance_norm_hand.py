# expect: nothing

import torch
from torch import nn


class IN(nn.Module):
    def forward(self, x):
        m = x.mean((2, 3), keepdim=True)
        s = x.std((2, 3), keepdim=True)
        return (x - m) / (s + 1e-5)


torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 8, 3), IN(), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 4))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(30):
    y = torch.randint(0, 4, (8,))
    x = torch.randn(8, 3, 8, 8) + y.view(-1, 1, 1, 1)
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
