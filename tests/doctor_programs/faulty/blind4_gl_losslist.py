# expect: graph-leak line 19

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(13, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
X = torch.randn(200, 13)
y = X @ torch.randn(13, 1)
losses = []
for epoch in range(15):
    for xb, yb in zip(X.split(20), y.split(20)):
        pred = model(xb)
        loss = nn.functional.mse_loss(pred, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss)
print("final", sum(losses[-10:]) / 10)
