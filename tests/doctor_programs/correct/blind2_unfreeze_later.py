# expect: nothing

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
body = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
head = nn.Linear(32, 2)
for p in body.parameters():
    p.requires_grad_(False)
opt = torch.optim.Adam(head.parameters(), lr=1e-3)
for ep in range(20):
    if ep == 10:
        for p in body.parameters():
            p.requires_grad_(True)
        opt.add_param_group({"params": body.parameters(), "lr": 1e-4})
    x = torch.randn(64, 8)
    y = (x[:, 0] > 0).long()
    loss = nn.functional.cross_entropy(head(body(x)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
