# expect: nothing
# The backbone is unfrozen at epoch three and added to the optimizer as a new group.

import torch
from torch import nn

torch.manual_seed(0)
back = nn.Sequential(nn.Linear(6, 24), nn.ReLU())
head = nn.Linear(24, 3)
back.requires_grad_(False)
opt = torch.optim.Adam(head.parameters(), lr=5e-3)
x, y = torch.randn(60, 6), torch.randint(0, 3, (60,))
for ep in range(8):
    if ep == 3:
        back.requires_grad_(True)
        opt.add_param_group({"params": back.parameters(), "lr": 1e-3})
    for i in range(0, 60, 20):
        opt.zero_grad()
        nn.functional.cross_entropy(head(back(x[i : i + 20])), y[i : i + 20]).backward()
        opt.step()
