# expect: nothing
# A guard skips the update when the loss is too large; the gradients are dropped.

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
skipped = 0
for i in range(40):
    x = torch.randn(8, 4) * (5 if i % 9 == 8 else 1)
    loss = nn.functional.mse_loss(net(x), x[:, :1])
    loss.backward()
    norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    if norm > 8:
        skipped += 1
        opt.zero_grad()
        continue
    opt.step()
    opt.zero_grad()
print(loss.item(), skipped)
