# expect: target-not-detached line 13, 14

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
f = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.Adam(f.parameters(), lr=1e-3)
X, Y, U = torch.randn(64, 10), torch.randint(0, 4, (64,)), torch.randn(256, 10)
for i in range(40):
    k = torch.randint(0, 256, (32,))
    guess = torch.softmax(f(U[k]), dim=1)
    lu = F.cross_entropy(f(U[k] + 0.3 * torch.randn(32, 10)), guess)
    loss = F.cross_entropy(f(X), Y) + 0.5 * lu
    opt.zero_grad()
    loss.backward()
    opt.step()
