# expect: missing-step line 8, 15

import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
scaler = torch.cuda.amp.GradScaler(enabled=False)
for i in range(20):
    x = torch.randn(32, 8)
    y = (x[:, 0] > 0).long()
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    scaler.scale(loss).backward()
    scaler.update()
print(loss.item())
