# expect: nan-origin line 15

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 8))
opt = torch.optim.Adam(enc.parameters(), lr=1e-3)
for it in range(10):
    a = torch.randn(16, 5)
    p = a + 0.1 * torch.randn(16, 5)
    p[0] = a[0]
    n = torch.randn(16, 5)
    za, zp, zn = enc(a), enc(p), enc(n)
    dp = ((za - zp) ** 2).sum(1).sqrt()
    dn = ((za - zn) ** 2).sum(1).sqrt()
    loss = torch.relu(dp - dn + 1.0).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(it, loss.item())
