# expect: nothing
# Fine-tuning with rates from 1e-6 (bottom) to 1e-3 (head).

import torch
from torch import nn

torch.manual_seed(0)
body = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
head = nn.Linear(32, 3)
pre = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=3e-3)
for _ in range(40):
    x = torch.randn(32, 6)
    loss = nn.functional.cross_entropy(head(body(x)), x[:, :3].argmax(1))
    pre.zero_grad()
    loss.backward()
    pre.step()
head = nn.Linear(32, 2)
opt = torch.optim.Adam(
    [
        {"params": body[0].parameters(), "lr": 1e-6},
        {"params": body[2].parameters(), "lr": 1e-5},
        {"params": head.parameters(), "lr": 1e-3},
    ]
)
for _ in range(40):
    x = torch.randn(32, 6)
    loss = nn.functional.cross_entropy(head(body(x)), (x[:, 0] > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
