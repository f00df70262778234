# expect: wrong-reduction line 15, 16, 17

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
enc = nn.Linear(8, 8)
dec = nn.Linear(4, 8)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=1e-3)
x = torch.randn(64, 8)
for i in range(20):
    mu, lv = enc(x).chunk(2, 1)
    z = mu + torch.randn_like(mu) * (0.5 * lv).exp()
    rec = F.mse_loss(dec(z), x)
    kl = -0.5 * torch.sum(1 + lv - mu.pow(2) - lv.exp())
    loss = rec + kl
    opt.zero_grad()
    loss.backward()
    opt.step()
