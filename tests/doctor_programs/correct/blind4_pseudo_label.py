# expect: nothing

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
Xl, Xu = torch.randn(48, 6), torch.randn(400, 6)
yl = (Xl[:, 0] > 0).long()
for it in range(120):
    i, u = torch.randint(0, 48, (16,)), torch.randint(0, 400, (32,))
    with torch.no_grad():
        conf, pl = F.softmax(net(Xu[u]), dim=1).max(1)
        mask = (conf > 0.9).float()
    lu = (
        F.cross_entropy(net(Xu[u] + 0.1 * torch.randn(32, 6)), pl, reduction="none") * mask
    ).mean()
    loss = F.cross_entropy(net(Xl[i]), yl[i]) + 0.5 * lu
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 30 == 0:
        print(it, loss.item(), mask.mean().item())
