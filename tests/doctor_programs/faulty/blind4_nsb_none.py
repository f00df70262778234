# expect: non-scalar-backward line 13, 15

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(7, 16), nn.ReLU(), nn.Linear(16, 3))
opt = torch.optim.Adam(net.parameters())
ce = nn.CrossEntropyLoss(reduction="none")
x, y = torch.randn(32, 7), torch.randint(0, 3, (32,))
w = torch.rand(32)
for _ in range(5):
    loss = ce(net(x), y) * w
    opt.zero_grad()
    loss.backward()
    opt.step()
