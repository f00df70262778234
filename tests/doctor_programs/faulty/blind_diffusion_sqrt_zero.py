# expect: nan-origin line 18
# The noise schedule ends with a negative value under the root.

import torch
from torch import nn

T = 20
betas = torch.linspace(1e-3, 1.2, T)
alpha_bar = torch.cumprod(1 - betas, 0)
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 32), nn.SiLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for it in range(20):
    x0 = torch.randn(64, 2)
    t = torch.randint(0, T, (64,))
    eps = torch.randn_like(x0)
    ab = alpha_bar[t].unsqueeze(1)
    noisy = torch.sqrt(ab) * x0 + torch.sqrt(1 - ab) * eps
    pred = net(torch.cat([noisy, t.unsqueeze(1) / T], 1))
    loss = (pred - eps).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
