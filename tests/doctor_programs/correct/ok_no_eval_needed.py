# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(90, 8)
y = x[:, :3].argmax(1)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))

opt = torch.optim.Adam(net.parameters(), lr=0.01)
for i in range(30):
    loss = F.cross_entropy(net(x[:60]), y[:60])
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        acc = (net(x[60:]).argmax(1) == y[60:]).float().mean().item()
