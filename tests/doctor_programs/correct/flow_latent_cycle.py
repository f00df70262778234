# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
enc, dec = nn.Linear(10, 4), nn.Linear(4, 10)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=1e-3)
for i in range(40):
    x = torch.randn(64, 10)
    target = enc(x)
    rec = dec(target)
    loss = F.mse_loss(rec, x) + 0.1 * F.mse_loss(enc(rec), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
