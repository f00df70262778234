# expect: nothing
# Hard Gumbel-softmax codes: the straight-through estimator by a detach.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
enc, dec = nn.Linear(8, 6), nn.Linear(6, 8)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], 1e-2)
x = torch.randn(64, 8)
for t in range(25):
    lg = enc(x)
    g = -torch.log(-torch.log(torch.rand_like(lg).clamp(1e-6, 1 - 1e-6)))
    soft = F.softmax((lg + g) / max(0.5, 1 - t / 25), dim=-1)
    hard = F.one_hot(soft.argmax(-1), 6).float()
    code = hard - soft.detach() + soft
    l = F.mse_loss(dec(code), x)
    opt.zero_grad()
    l.backward()
    opt.step()
