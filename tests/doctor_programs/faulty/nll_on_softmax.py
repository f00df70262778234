# expect: loss-activation-mismatch line 14, 15

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(90, 8)
y = x[:, :3].argmax(1)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))

opt = torch.optim.Adam(net.parameters(), lr=0.01)
for i in range(20):
    p = F.softmax(net(x), dim=1)
    loss = F.nll_loss(p, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
