# expect: missing-requires-grad line 8, 10

import torch
from torch import nn

torch.manual_seed(0)
dec = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 10))
Z = torch.randn(64, 4)
X = torch.randn(64, 10)
opt = torch.optim.Adam([{"params": dec.parameters()}, {"params": [Z], "lr": 1e-2}], lr=1e-3)
for i in range(80):
    opt.zero_grad()
    loss = nn.functional.mse_loss(dec(Z), X)
    loss.backward()
    opt.step()
print(loss.item())
