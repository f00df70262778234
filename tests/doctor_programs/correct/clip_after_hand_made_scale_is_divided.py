# expect: nothing
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(11)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
scale = 1024.0
x = torch.randn(256, 8)
y = x.sum(1, keepdim=True)
for step in range(30):
    rows = torch.randint(0, 256, (32,))
    loss = F.mse_loss(model(x[rows]), y[rows])
    optimizer.zero_grad()
    (loss * scale).backward()
    for p in model.parameters():
        p.grad.div_(scale)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
