# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
trunk, ha, hb = nn.Sequential(nn.Linear(6, 24), nn.ReLU()), nn.Linear(24, 2), nn.Linear(24, 1)
opt = torch.optim.Adam([*trunk.parameters(), *ha.parameters(), *hb.parameters()], lr=3e-3)
for i in range(80):
    x = torch.randn(32, 6)
    h = trunk(x)
    la = nn.functional.cross_entropy(ha(h), (x[:, 0] > 0).long())
    lb = nn.functional.mse_loss(hb(h), x[:, 1:2])
    opt.zero_grad()
    la.backward(retain_graph=True)
    lb.backward()
    opt.step()
    if i % 20 == 0:
        print(i, la.item(), lb.item())
