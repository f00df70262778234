# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 64), nn.SiLU(), nn.Linear(64, 2))
ema = {k: v.clone() for k, v in net.state_dict().items()}
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
for i in range(40):
    x0 = torch.randn(32, 2)
    t = torch.rand(32, 1)
    eps = torch.randn_like(x0)
    xt = (1 - t) * x0 + t * eps
    loss = (net(torch.cat([xt, t], 1)) - eps).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for k, v in net.state_dict().items():
            ema[k].mul_(0.99).add_(v, alpha=0.01)
net.load_state_dict(ema)
