# expect: nothing
# bfloat16 has float32's range and needs no scaler.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(236)
x = torch.randn(100, 12)
y = x[:, :4].argmax(1)
model = nn.Sequential(nn.Linear(12, 48), nn.GELU(), nn.Linear(48, 4))
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
losses = []
for _ in range(20):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(x)
    loss = F.cross_entropy(logits.float(), y)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"loss {losses[0]:.4f} {losses[-1]:.4f}")
