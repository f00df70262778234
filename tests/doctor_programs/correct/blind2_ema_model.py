# expect: nothing

import copy
import clew as torch
import clew.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 32), nn.SiLU(), nn.Linear(32, 1))
ema = copy.deepcopy(net).eval()
for p in ema.parameters():
    p.requires_grad_(False)
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)


@torch.no_grad()
def update(decay=0.95):
    for a, b in zip(ema.parameters(), net.parameters()):
        a.mul_(decay).add_(b, alpha=1 - decay)


for i in range(60):
    x = torch.randn(32, 6)
    y = x.sum(1, keepdim=True).sin()
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    update()
with torch.no_grad():
    x = torch.randn(100, 6)
    print(nn.functional.mse_loss(ema(x), x.sum(1, keepdim=True).sin()).item())
