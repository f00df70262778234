# expect: clip-misplaced line 15
# Gradients are unscaled and clipped only after scaler.step() has used them.

import torch
from torch import nn


def train_step(model, optimizer, scaler, x, y):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        out = model(x)
        loss = nn.functional.mse_loss(out.float(), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    scaler.update()
    return loss.item()


torch.manual_seed(622)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
x = torch.randn(80, 6)
y = x[:, :1] + x[:, 1:2] ** 2
for it in range(15):
    value = train_step(model, optimizer, scaler, x, y)
    if it % 5 == 0:
        print(it, value)
