# expect: nothing

import torch
import torch.nn as nn

torch.manual_seed(0)
X = torch.randn(400, 5)
y = (X[:, 0] + 0.3 * torch.randn(400) > 1.0).float()
mu, sd = X[:300].mean(0), X[:300].std(0)
Xt, Xv = (X[:300] - mu) / sd, (X[300:] - mu) / sd
pw = (y[:300] == 0).sum() / (y[:300] == 1).sum()
crit = nn.BCEWithLogitsLoss(pos_weight=pw)
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for ep in range(6):
    for idx in torch.randperm(300).split(50):
        loss = crit(net(Xt[idx]).squeeze(1), y[:300][idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        p = torch.sigmoid(net(Xv).squeeze(1)) > 0.5
    print(ep, (p == y[300:].bool()).float().mean().item())
