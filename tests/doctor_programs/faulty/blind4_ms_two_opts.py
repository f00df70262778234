# expect: missing-step line 9, 19

import torch
from torch import nn

torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 6))
dec = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 20))
enc_opt = torch.optim.Adam(enc.parameters(), lr=1e-3)
dec_opt = torch.optim.Adam(dec.parameters(), lr=1e-3)
data = torch.randn(256, 6) @ torch.randn(6, 20)

for epoch in range(6):
    for xb in data.split(32):
        enc_opt.zero_grad()
        dec_opt.zero_grad()
        rec = dec(enc(xb))
        loss = ((rec - xb) ** 2).mean()
        loss.backward()
        dec_opt.step()
    print(f"{epoch} {loss.item():.4f}")
