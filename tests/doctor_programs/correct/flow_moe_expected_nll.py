# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
gate = nn.Linear(6, 3)
experts = nn.ModuleList(nn.Linear(6, 4) for _ in range(3))
opt = torch.optim.Adam([*gate.parameters(), *experts.parameters()], lr=1e-3)
for i in range(40):
    x = torch.randn(64, 6)
    y = x[:, :4].argmax(1)
    g = F.softmax(gate(x), 1)
    lp = torch.stack([F.log_softmax(e(x), 1).gather(1, y[:, None]).squeeze(1) for e in experts], 1)
    loss = -(g * lp).sum(1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
