# expect: aliased-buffer line 25

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
X = torch.randn(100, 6)
y = X[:, :1] + 0.5 * torch.randn(100, 1)
Xv = torch.randn(50, 6)
yv = Xv[:, :1] + 0.5 * torch.randn(50, 1)
best, best_state, bad = float("inf"), None, 0
for epoch in range(40):
    net.train()
    loss = nn.functional.mse_loss(net(X), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    net.eval()
    with torch.no_grad():
        v = nn.functional.mse_loss(net(Xv), yv).item()
    if v < best:
        best, bad = v, 0
        best_state = net.state_dict()
    else:
        bad += 1
        if bad > 5:
            break
net.load_state_dict(best_state)
print(best)
