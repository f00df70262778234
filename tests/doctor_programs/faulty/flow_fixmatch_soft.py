# expect: target-not-detached line 16, 17

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
f = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.Adam(f.parameters(), lr=1e-3)
X, Y, U = torch.randn(64, 10), torch.randint(0, 4, (64,)), torch.randn(256, 10)
for i in range(40):
    j = torch.randint(0, 64, (16,))
    k = torch.randint(0, 256, (32,))
    weak = U[k] + 0.02 * torch.randn(32, 10)
    strong = U[k] + 0.5 * torch.randn(32, 10)
    p = f(weak).softmax(-1)
    lu = -(p * F.log_softmax(f(strong), -1)).sum(-1).mean()
    loss = F.cross_entropy(f(X[j]), Y[j]) + lu
    opt.zero_grad()
    loss.backward()
    opt.step()
