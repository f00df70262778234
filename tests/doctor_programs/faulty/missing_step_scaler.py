# expect: missing-step line 13, 21
# The scaled loss is unscaled, clipped and the scaler updated, but scaler.step() is missing.

import torch
from torch import nn

torch.manual_seed(15)
x = torch.randn(64, 16)
y = torch.randint(0, 4, (64,))
x[torch.arange(64), y] += 2.0

model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)

for step in range(12):
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cpu", dtype=torch.float16):
        logits = model(x)
        loss = nn.functional.cross_entropy(logits, y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.update()
    if step % 4 == 0:
        print(f"step {step}: loss {loss.item():.4f} scale {scaler.get_scale()}")
