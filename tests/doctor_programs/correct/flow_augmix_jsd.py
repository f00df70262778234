# expect: nothing

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(30):
    x = torch.randn(32, 8)
    y = x[:, :3].argmax(1)
    a, b, c = net(x), net(x + 0.1 * torch.randn_like(x)), net(x + 0.1 * torch.randn_like(x))
    pa, pb, pc = F.softmax(a, 1), F.softmax(b, 1), F.softmax(c, 1)
    m = torch.clamp((pa + pb + pc) / 3, 1e-7, 1).log()
    jsd = (
        F.kl_div(m, pa, reduction="batchmean")
        + F.kl_div(m, pb, reduction="batchmean")
        + F.kl_div(m, pc, reduction="batchmean")
    ) / 3
    loss = F.cross_entropy(a, y) + 4 * jsd
    opt.zero_grad()
    loss.backward()
    opt.step()
