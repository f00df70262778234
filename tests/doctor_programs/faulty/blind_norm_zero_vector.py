# expect: nan-origin line 15
# Cosine by hand: padding rows are zero, the norm divides by zero.

import torch
from torch import nn

torch.manual_seed(0)
emb = nn.Embedding(10, 6, padding_idx=0)
opt = torch.optim.Adam(emb.parameters(), 1e-2)
for it in range(6):
    a = torch.randint(0, 10, (16,))
    a[0] = 0
    b = torch.randint(1, 10, (16,))
    u, v = emb(a), emb(b)
    cos = (u * v).sum(1) / (u.pow(2).sum(1).sqrt() * v.norm(dim=1))
    loss = (cos - (a == b).float()).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
