# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
enc = nn.Linear(8, 6)
dec = nn.Linear(6, 8)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=1e-2)
for i in range(30):
    x = torch.randn(32, 8)
    s = torch.sigmoid(enc(x))
    b = s + (torch.round(s) - s).detach()
    loss = F.mse_loss(dec(b), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
