# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(90, 8)
y = x[:, :3].argmax(1)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))

opt = torch.optim.Adam(net.parameters(), lr=0.01)
for i in range(20):
    xa = x.clone().requires_grad_(True)
    F.cross_entropy(net(xa), y).backward()
    delta = 0.05 * xa.grad.sign()
    opt.zero_grad()
    loss = F.cross_entropy(net((x + delta).detach()), y)
    loss.backward()
    opt.step()
