# expect: wrong-reduction line 13, 14

import torch
from torch import nn

torch.manual_seed(0)
enc, dec = nn.Linear(20, 8), nn.Linear(8, 20)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=1e-3)
for i in range(40):
    x = torch.rand(64, 20)
    h = torch.relu(enc(x))
    rec = nn.functional.mse_loss(dec(h), x)
    sparse = h.abs().sum()
    loss = rec + sparse
    opt.zero_grad()
    loss.backward()
    opt.step()
