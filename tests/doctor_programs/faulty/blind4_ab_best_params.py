# expect: aliased-buffer line 20

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=2e-2)
X = torch.randn(60, 4)
y = X[:, :1] + torch.randn(60, 1)
best, best_params = 1e9, None
for ep in range(60):
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(X[:40]), y[:40])
    loss.backward()
    opt.step()
    with torch.no_grad():
        v = nn.functional.mse_loss(net(X[40:]), y[40:]).item()
    if v < best:
        best, best_params = v, [p.data for p in net.parameters()]
with torch.no_grad():
    for p, b in zip(net.parameters(), best_params):
        p.copy_(b)
print(best)
