# expect: nothing

import torch
import torch.nn as nn

torch.manual_seed(0)
models = nn.ModuleList(
    [nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 1)) for _ in range(3)]
)
opts = [torch.optim.Adam(m.parameters(), lr=5e-3) for m in models]
X = torch.randn(150, 4)
y = X[:, 0] ** 2 - X[:, 1]
Xv = torch.randn(40, 4)
yv = Xv[:, 0] ** 2 - Xv[:, 1]
for ep in range(6):
    for m, o in zip(models, opts):
        idx = torch.randint(0, 150, (150,))
        for b in idx.split(50):
            o.zero_grad()
            loss = nn.functional.mse_loss(m(X[b]).flatten(), y[b])
            loss.backward()
            o.step()
with torch.no_grad():
    p = torch.stack([m(Xv).flatten() for m in models])
print(p.std(0).mean().item(), nn.functional.mse_loss(p.mean(0), yv).item())
