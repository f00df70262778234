# expect: nothing

import clew as torch
import clew.nn as nn
import math


def lr_lambda(step, warm=20, total=160):
    if step < warm:
        return (step + 1) / warm
    return 0.5 * (1 + math.cos(math.pi * (step - warm) / (total - warm)))


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 32), nn.GELU(), nn.Linear(32, 3))
opt = torch.optim.AdamW(net.parameters(), lr=5e-3)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lr_lambda)
for s in range(160):
    x = torch.randn(32, 6)
    loss = nn.functional.cross_entropy(net(x), x[:, :3].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    if s % 40 == 0:
        print(s, loss.item())
