# expect: nothing
import torch
import torch.nn as nn

torch.manual_seed(1818)
half = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1)).half()
master = [p.detach().clone().float().requires_grad_(True) for p in half.parameters()]
opt = torch.optim.SGD(master, lr=0.1)
SCALE = 512.0
w = torch.randn(8, 1)
for it in range(40):
    x = torch.randn(64, 8)
    y = x @ w * 0.3
    pred = half(x.half()).float()
    loss = (pred - y).pow(2).mean()
    half.zero_grad()
    (loss * SCALE).backward()
    for m, p in zip(master, half.parameters()):
        m.grad = p.grad.float() / SCALE
    nn.utils.clip_grad_norm_(master, 5.0)
    opt.step()
    with torch.no_grad():
        for m, p in zip(master, half.parameters()):
            p.copy_(m)
print(loss.item())
