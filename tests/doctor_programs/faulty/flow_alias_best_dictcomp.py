# expect: aliased-buffer line 19

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
X = torch.randn(64, 8)
Y = X[:, :1] * 2
best, best_w = float("inf"), None
for ep in range(20):
    loss = nn.functional.mse_loss(net(X), Y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if loss.item() < best:
        best = loss.item()
        best_w = {k: v.detach() for k, v in net.named_parameters()}
    if ep % 5 == 4:
        print(ep, best)
with torch.no_grad():
    for k, p in net.named_parameters():
        p.copy_(best_w[k])
