# expect: clip-misplaced line 22
# Clipping sees gradients that are still multiplied by the scale.

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(4)
model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 4))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
params = [p for p in model.parameters() if p.requires_grad]

for step in range(30):
    x = torch.randn(32, 10)
    y = x[:, :4].argmax(1)
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast(device_type="cpu", dtype=torch.float16):
        logits = model(x)
    loss = F.cross_entropy(logits.float(), y)
    scaler.scale(loss).backward()
    gn = torch.nn.utils.clip_grad_norm_(params, 1.0)
    scaler.step(optimizer)
    scaler.update()
    if step % 10 == 0:
        print(step, loss.item(), float(gn))
