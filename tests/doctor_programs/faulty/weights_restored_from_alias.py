# expect: aliased-buffer line 21
# Noise is added to the weights and "taken back" from what is the same memory: it stays.

import torch
from torch import nn

torch.manual_seed(14)
x = torch.randn(64, 5)
y = x[:, :1] + x[:, 1:2]
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for _ in range(60):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("trained", loss.item())
model.eval()
with torch.no_grad():
    for scale in (0.1,):
        kept = [p.detach() for p in model.parameters()]
        for p in model.parameters():
            p.add_(scale * torch.randn_like(p))
        print("with noise", nn.functional.mse_loss(model(x), y).item())
        for p, old in zip(model.parameters(), kept):
            p.copy_(old)
    print("without", nn.functional.mse_loss(model(x), y).item())
