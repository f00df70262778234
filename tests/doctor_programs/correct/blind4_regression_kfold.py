# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
X = torch.randn(200, 5)
y = X @ torch.randn(5, 1) + 0.1 * torch.randn(200, 1)
folds = torch.randperm(200).split(50)
scores = []
for k in range(4):
    val = folds[k]
    tr = torch.cat([f for j, f in enumerate(folds) if j != k])
    net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for ep in range(6):
        for i in tr[torch.randperm(150)].split(25):
            opt.zero_grad()
            loss = nn.functional.mse_loss(net(X[i]), y[i])
            loss.backward()
            opt.step()
    with torch.no_grad():
        scores.append(nn.functional.mse_loss(net(X[val]), y[val]).item())
print(scores)
