# expect: clip-misplaced line 18

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(64, 8)
y = x[:, :1] * 2 - x[:, 1:2]
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))

opt = torch.optim.SGD(net.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu")
for i in range(10):
    loss = F.mse_loss(net(x), y)
    opt.zero_grad()
    scaler.scale(loss).backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    scaler.step(opt)
    scaler.update()
