# expect: nothing
# float16 autocast with a GradScaler: unscale, clip, step, update.

import torch
from torch import nn

torch.manual_seed(235)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
x = torch.randn(64, 8)
y = x.pow(2).sum(dim=1, keepdim=True) / 8
losses = []
for _ in range(30):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        prediction = model(x)
    loss = nn.functional.mse_loss(prediction.float(), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    losses.append(loss.item())
print(losses[0], losses[-1])
