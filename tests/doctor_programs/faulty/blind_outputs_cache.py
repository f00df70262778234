# expect: graph-leak line 17
# Validation predictions of every epoch are kept in a dict with their graphs.

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), 1e-3)
x, y = torch.randn(40, 6), torch.randn(40, 1)
xv = torch.randn(20, 6)
predictions = {}
for epoch in range(30):
    opt.zero_grad()
    nn.functional.mse_loss(net(x), y).backward()
    opt.step()
    predictions[epoch] = net(xv)
print(len(predictions), predictions[29].mean().item())
