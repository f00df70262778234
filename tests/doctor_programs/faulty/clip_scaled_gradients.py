# expect: clip-misplaced line 20
# Gradients are clipped while still multiplied by the loss scale, unscale_() is missing.

import torch
from torch import nn

torch.manual_seed(20)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
scaler = torch.amp.GradScaler("cpu", init_scale=4096.0)
x = torch.randn(64, 8)
y = x.pow(2).sum(dim=1, keepdim=True) / 8

for step in range(20):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        prediction = model(x)
    loss = nn.functional.mse_loss(prediction.float(), y)
    scaler.scale(loss).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    scaler.step(optimizer)
    scaler.update()
    if step % 5 == 0:
        print(step, loss.item())
