# expect: aliased-buffer line 24

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
X = torch.randn(200, 6)
y = X[:, :1] * X[:, 1:2] + 0.5 * torch.randn(200, 1)
best_loss, best_state = float("inf"), None
for ep in range(40):
    for i in torch.randperm(160).split(20):
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(X[i]), y[i])
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        v = nn.functional.mse_loss(net(X[160:]), y[160:]).item()
    net.train()
    if v < best_loss:
        best_loss = v
        best_state = net.state_dict()
net.load_state_dict(best_state)
print("best", best_loss)
