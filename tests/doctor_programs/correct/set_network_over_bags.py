# expect: nothing
# Deep sets: the mean is over the elements of each bag, which are flattened into dim 0.

import torch
from torch import nn

torch.manual_seed(0)
phi = nn.Sequential(nn.Linear(3, 16), nn.ReLU())
rho = nn.Linear(16, 1)
opt = torch.optim.Adam([*phi.parameters(), *rho.parameters()], lr=3e-3)
for i in range(30):
    bags = [torch.randn(int(n), 3) for n in torch.randint(2, 8, (12,))]
    target = torch.stack([b.mean() for b in bags]).unsqueeze(1)
    h = torch.stack([phi(b).mean(0) for b in bags])
    loss = nn.functional.mse_loss(rho(h), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
