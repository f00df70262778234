# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(90, 8)
y = x[:, :3].argmax(1)

body = nn.Sequential(nn.Linear(8, 16), nn.ReLU())
head = nn.Linear(16, 3)
for p in body.parameters():
    p.requires_grad = False
opt = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=0.01)
for i in range(30):
    if i == 10:
        for p in body.parameters():
            p.requires_grad = True
    loss = F.cross_entropy(head(body(x)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
