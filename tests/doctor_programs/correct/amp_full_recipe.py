# expect: nothing
# Mixed precision with scaler, unscale, clipping and accumulation.

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(10, 40), nn.ReLU(), nn.Linear(40, 5))
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=128.0)
K = 2
for i in range(40):
    x = torch.randn(16, 10)
    y = x[:, :5].argmax(1)
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.cross_entropy(net(x), y) / K
    scaler.scale(loss).backward()
    if (i + 1) % K == 0:
        scaler.unscale_(opt)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(opt)
        scaler.update()
        opt.zero_grad(set_to_none=True)
print(loss.item() * K)
