# expect: nothing

import torch
import torch.nn as nn

torch.manual_seed(0)
X = torch.randn(120, 5)
y = (X[:, 0] > 0).long()
folds = torch.randperm(120).chunk(4)
scores = []
for k in range(4):
    te = folds[k]
    tr = torch.cat([f for j, f in enumerate(folds) if j != k])
    net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 2))
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for ep in range(10):
        net.train()
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(X[tr]), y[tr])
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        scores.append((net(X[te]).argmax(1) == y[te]).float().mean().item())
print(sum(scores) / 4)
