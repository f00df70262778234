# expect: missing-step line 9, 18

import torch
from torch import nn
from torch.amp import GradScaler, autocast

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
scaler = GradScaler("cpu")
X = torch.randn(256, 16)
y = X[:, :4].argmax(1)
for step in range(50):
    i = torch.randint(0, 256, (32,))
    opt.zero_grad()
    with autocast("cpu", dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(net(X[i]), y[i])
    scaler.scale(loss).backward()
    scaler.update()
    if step % 10 == 0:
        print(step, loss.item())
