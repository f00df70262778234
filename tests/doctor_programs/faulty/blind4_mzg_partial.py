# expect: missing-zero-grad line 12, 14, 15

import torch
from torch import nn

torch.manual_seed(0)
enc, dec = nn.Linear(12, 4), nn.Linear(4, 12)
opt = torch.optim.SGD([*enc.parameters(), *dec.parameters()], lr=0.02)
data = torch.randn(256, 4) @ torch.randn(4, 12)
for ep in range(4):
    for xb in data.split(32):
        dec.zero_grad()
        loss = nn.functional.mse_loss(dec(enc(xb)), xb)
        loss.backward()
        opt.step()
    print(ep, loss.item())
