# expect: fp16-underflow line 15, 22, 23
# The whole model is float16 and the mean of tiny errors gives gradients that round to zero.

import torch
from torch import nn

torch.manual_seed(107)
coords = torch.rand(512, 2)
field = 1e-2 * torch.sin(6 * coords[:, :1]) * torch.cos(6 * coords[:, 1:])

model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
with torch.no_grad():
    for p in model[-1].parameters():
        p.mul_(1e-3)
model = model.half()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
coords, field = coords.half(), field.half()

for step in range(15):
    optimizer.zero_grad()
    error = model(coords) - field
    loss = (error**2).mean()
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        zeros = sum((p.grad == 0).sum().item() for p in model.parameters())
        total = sum(p.numel() for p in model.parameters())
        print(f"step {step} loss {loss.item():.3e} zero gradients {zeros}/{total}")
