# expect: nothing

import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.LayerNorm(32), nn.GELU(), nn.Linear(32, 2))
decay = [p for n, p in net.named_parameters() if p.dim() > 1]
no_decay = [p for n, p in net.named_parameters() if p.dim() <= 1]
opt = torch.optim.AdamW(
    [{"params": decay, "weight_decay": 0.01}, {"params": no_decay, "weight_decay": 0.0}], lr=2e-3
)
w = torch.optim.lr_scheduler.LinearLR(opt, 0.1, total_iters=5)
c = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=25)
s = torch.optim.lr_scheduler.SequentialLR(opt, [w, c], milestones=[5])
for i in range(30):
    x = torch.randn(32, 8)
    y = (x[:, 0] * x[:, 1] > 0).long()
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    s.step()
print(loss.item())
