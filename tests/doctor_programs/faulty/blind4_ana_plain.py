# expect: accumulation-not-averaged line 16, 17, 19

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.005)
accumulation_steps = 8
X = torch.randn(640, 8)
y = X.pow(2).mean(1, keepdim=True)
loader = list(zip(X.split(10), y.split(10)))
opt.zero_grad()
for epoch in range(3):
    for i, (xb, yb) in enumerate(loader):
        loss = nn.functional.mse_loss(model(xb), yb)
        loss.backward()
        if (i + 1) % accumulation_steps == 0:
            opt.step()
            opt.zero_grad()
    print(epoch, loss.item())
