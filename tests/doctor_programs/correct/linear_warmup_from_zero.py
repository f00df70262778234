# expect: nothing
# Warmup starts at a rate of (almost) zero.

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.SiLU(), nn.Linear(32, 4))
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
total, warm = 60, 20


def factor(step):
    if step < warm:
        return step / warm
    return max(0.0, (total - step) / (total - warm))


sched = torch.optim.lr_scheduler.LambdaLR(opt, factor)
for step in range(total):
    x = torch.randn(16, 8)
    loss = nn.functional.cross_entropy(model(x), x[:, :4].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
print(loss.item(), sched.get_last_lr())
