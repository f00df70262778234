# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
ea, eb = nn.Linear(8, 4), nn.Linear(6, 4)
da, db = nn.Linear(4, 8), nn.Linear(4, 6)
opt = torch.optim.Adam([p for m in (ea, eb, da, db) for p in m.parameters()], lr=1e-3)
W = torch.randn(8, 6)
for i in range(40):
    x = torch.randn(32, 8)
    y = x @ W
    za, zb = ea(x), eb(y)
    loss = (
        nn.functional.mse_loss(da(za), x)
        + nn.functional.mse_loss(db(zb), y)
        + nn.functional.mse_loss(za, zb)
    )
    opt.zero_grad()
    loss.backward()
    opt.step()
