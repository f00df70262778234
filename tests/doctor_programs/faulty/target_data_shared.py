# expect: aliased-buffer line 23

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
import copy

q = nn.Linear(4, 2)
target = copy.deepcopy(q)
opt = torch.optim.Adam(q.parameters(), lr=0.01)
for i in range(20):
    s = torch.randn(16, 4)
    with torch.no_grad():
        t = target(s).max(1)[0]
    loss = F.mse_loss(q(s).max(1)[0], 0.9 * t + 1)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 5 == 0:
        for tp, p in zip(target.parameters(), q.parameters()):
            tp.data = p.data
