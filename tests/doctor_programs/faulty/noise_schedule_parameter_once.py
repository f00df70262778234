# expect: backward-twice line 11, 20
# The learned noise schedule is turned into sigmas once, outside the loop.

import torch
from torch import nn

torch.manual_seed(910)
log_sigma = nn.Parameter(torch.zeros(5))
net = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam([log_sigma, *net.parameters()], lr=1e-2)
sigmas = torch.cumsum(torch.exp(log_sigma), dim=0)

for step in range(6):
    x = torch.randn(32, 2)
    level = torch.randint(0, 5, (32,))
    sigma = sigmas[level].unsqueeze(1)
    noisy = x + sigma * torch.randn(32, 2)
    loss = (net(torch.cat([noisy, sigma], dim=1)) - x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
