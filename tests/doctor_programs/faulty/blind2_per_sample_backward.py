# expect: non-scalar-backward line 13, 15

import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
opt = torch.optim.Adam(net.parameters())
weights = torch.rand(32)
for i in range(10):
    x = torch.randn(32, 4)
    y = torch.randint(0, 3, (32,))
    loss = nn.functional.cross_entropy(net(x), y, reduction="none") * weights
    opt.zero_grad()
    loss.backward()
    opt.step()
