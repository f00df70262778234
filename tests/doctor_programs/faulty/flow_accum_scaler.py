# expect: accumulation-not-averaged line 14, 15, 18

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
big = torch.randn(256, 8)
for it in range(15):
    opt.zero_grad()
    total = 0.0
    for chunk in big[torch.randperm(256)].chunk(8):
        loss = nn.functional.mse_loss(net(chunk), chunk.sum(1, keepdim=True))
        loss.backward()
        total += loss.item()
    nn.utils.clip_grad_norm_(net.parameters(), 10.0)
    opt.step()
