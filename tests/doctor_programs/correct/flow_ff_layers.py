# expect: nothing

import torch
import torch.nn as nn

torch.manual_seed(0)
layers = [nn.Linear(10, 20), nn.Linear(20, 20)]
opt = torch.optim.Adam([p for l in layers for p in l.parameters()], lr=1e-3)
for i in range(30):
    pos, neg = torch.randn(16, 10) + 1, torch.randn(16, 10)
    loss = 0.0
    for layer in layers:
        hp, hn = torch.relu(layer(pos)), torch.relu(layer(neg))
        loss = loss + nn.functional.softplus(2 - hp.pow(2).mean(1)).mean()
        loss = loss + nn.functional.softplus(hn.pow(2).mean(1) - 2).mean()
        pos, neg = hp.detach(), hn.detach()
    opt.zero_grad()
    loss.backward()
    opt.step()
