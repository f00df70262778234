# expect: loss-broadcast line 14, 23

import torch
import torch.nn as nn

torch.manual_seed(0)
X = torch.randn(200, 5)
y = X[:, 0] * 2 - X[:, 1]
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)


def huber(p, t, delta=1.0):
    err = p - t
    quad = torch.clamp(err.abs(), max=delta)
    return (0.5 * quad**2 + delta * (err.abs() - quad)).mean()


for epoch in range(5):
    perm = torch.randperm(200)
    for idx in perm.split(40):
        opt.zero_grad()
        loss = huber(model(X[idx]), y[idx])
        loss.backward()
        opt.step()
    print(loss.item())
