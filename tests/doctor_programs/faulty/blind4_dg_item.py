# expect: detached-graph line 12

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 2))
temp = nn.Parameter(torch.tensor(1.5))
opt = torch.optim.Adam([*net.parameters(), temp], lr=5e-3)
for i in range(60):
    x = torch.randn(32, 5)
    logits = net(x) / temp.item()
    loss = nn.functional.cross_entropy(logits, (x[:, 0] > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item(), temp.item())
