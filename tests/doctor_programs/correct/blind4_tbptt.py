# expect: nothing

import torch
import torch.nn as nn

torch.manual_seed(0)
gru = nn.GRU(1, 16, batch_first=True)
out = nn.Linear(16, 1)
opt = torch.optim.Adam([*gru.parameters(), *out.parameters()], lr=5e-3)
sig = torch.sin(torch.arange(0, 801).float() / 4).view(1, -1, 1).repeat(8, 1, 1)
sig = sig + 0.02 * torch.randn_like(sig)
for ep in range(3):
    h = torch.zeros(1, 8, 16)
    for t in range(0, 800, 25):
        h = h.detach()
        o, h = gru(sig[:, t : t + 25], h)
        loss = nn.functional.mse_loss(out(o), sig[:, t + 1 : t + 26])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(ep, loss.item())
