# expect: nothing

import torch
from torch import nn

# probe trained on detached features next to the main task
torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
main_head, probe = nn.Linear(32, 1), nn.Linear(32, 2)
opt = torch.optim.Adam([*enc.parameters(), *main_head.parameters()], lr=3e-3)
opt_p = torch.optim.Adam(probe.parameters(), lr=3e-3)
for i in range(80):
    x = torch.randn(32, 8)
    h = enc(x)
    loss = nn.functional.mse_loss(main_head(h), x[:, :1] * 2)
    opt.zero_grad()
    loss.backward()
    opt.step()
    lp = nn.functional.cross_entropy(probe(h.detach()), (x[:, 1] > 0).long())
    opt_p.zero_grad()
    lp.backward()
    opt_p.step()
    if i % 20 == 0:
        print(i, loss.item(), lp.item())
