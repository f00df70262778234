# expect: nothing

import clew as torch
import clew.nn as nn
import clew.nn.functional as F

torch.manual_seed(0)
enc, dec = nn.Linear(12, 6), nn.Linear(6, 12)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=1e-2)
proto = torch.randn(6, 12)
tau = 1.0
for i in range(120):
    x = proto[torch.randint(0, 6, (32,))] + 0.1 * torch.randn(32, 12)
    z = F.gumbel_softmax(enc(x), tau=tau, hard=True)
    loss = F.mse_loss(dec(z), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
    tau = max(0.4, tau * 0.99)
    if i % 30 == 0:
        print(i, loss.item())
