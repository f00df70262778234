# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
f = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 4))
opt = torch.optim.Adam(f.parameters(), lr=1e-3)
X = torch.randn(64, 10)
Y = X[:, :4].argmax(1)
for i in range(40):
    p1, p2 = f(X), f(X)
    cons = F.mse_loss(p1.softmax(1), p2.softmax(1))
    loss = F.cross_entropy(p1, Y) + cons
    opt.zero_grad()
    loss.backward()
    opt.step()
