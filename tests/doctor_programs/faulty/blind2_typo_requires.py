# expect: missing-requires-grad line 15

import torch
import torch.nn as nn

torch.manual_seed(0)
body = nn.Sequential(nn.Linear(8, 24), nn.ReLU())
head = nn.Linear(24, 2)
for p in body.parameters():
    p.requires_grad = False
opt = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=1e-3)
for ep in range(20):
    if ep == 8:
        for p in body.parameters():
            p.require_grad = True
    x = torch.randn(32, 8)
    y = (x[:, 0] > 0).long()
    loss = nn.functional.cross_entropy(head(body(x)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
