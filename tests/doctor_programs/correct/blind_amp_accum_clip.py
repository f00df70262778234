# expect: nothing
# Scaler, accumulation divided by K, unscale before clipping, remainder of the epoch handled.

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
scaler = torch.amp.GradScaler("cpu")
X, Y = torch.randn(88, 6), torch.randint(0, 3, (88,))
K = 4
for ep in range(4):
    n = len(X.split(8))
    for i, (x, y) in enumerate(zip(X.split(8), Y.split(8))):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(net(x), y) / K
        scaler.scale(loss).backward()
        if (i + 1) % K == 0 or i + 1 == n:
            scaler.unscale_(opt)
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            scaler.step(opt)
            scaler.update()
            opt.zero_grad()
print(loss.item() * K)
