# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
enc = nn.Linear(8, 4)
dec = nn.Linear(4, 8)
book = nn.Embedding(16, 4)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters(), *book.parameters()], lr=1e-2)
for i in range(30):
    x = torch.randn(32, 8)
    z = enc(x)
    idx = torch.cdist(z, book.weight).argmin(1)
    q = book(idx)
    zq = z + (q - z).detach()
    loss = F.mse_loss(dec(zq), x) + F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(z, q.detach())
    opt.zero_grad()
    loss.backward()
    opt.step()
