# expect: nothing

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(20):
    x = torch.randn(32, 8)
    y = x[:, :3].argmax(1)
    adv = x + 0.01 * torch.randn_like(x)
    for _ in range(2):
        adv.requires_grad_()
        kl = F.kl_div(F.log_softmax(net(adv), 1), F.softmax(net(x), 1), reduction="sum")
        (g,) = torch.autograd.grad(kl, adv)
        adv = (adv.detach() + 0.02 * g.sign()).detach()
    logits = net(x)
    robust = F.kl_div(F.log_softmax(net(adv), 1), F.softmax(logits, 1), reduction="batchmean")
    loss = F.cross_entropy(logits, y) + 3 * robust
    opt.zero_grad()
    loss.backward()
    opt.step()
