# expect: zero-grad-before-step line 19
# With the scaler, the gradients are cleared right before scaler.step.

import torch
from torch import nn

torch.manual_seed(1)
device = "cuda" if torch.cuda.is_available() else "cpu"
model = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 3)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler(device, enabled=device == "cuda")
X, T = torch.randn(64, 8), torch.randint(0, 3, (64,))
for epoch in range(8):
    for i in range(0, 64, 16):
        xb, tb = X[i : i + 16].to(device), T[i : i + 16].to(device)
        out = model(xb)
        loss = nn.functional.cross_entropy(out, tb)
        scaler.scale(loss).backward()
        model.zero_grad(set_to_none=True)
        scaler.step(optimizer)
        scaler.update()
    print(epoch, loss.item())
