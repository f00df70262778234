# expect: missing-step line 9, 16
# scaler.update is called and scaler.step forgotten.

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(net.parameters(), 1e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
for it in range(12):
    x = torch.randn(20, 4)
    opt.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(net(x), (x[:, 0] > 0).long())
    scaler.scale(loss).backward()
    scaler.update()
    print(it, loss.item())
