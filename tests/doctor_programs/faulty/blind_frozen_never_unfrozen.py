# expect: missing-requires-grad line 10, 15
# The schedule was to unfreeze the encoder in epoch two, but sets the attribute on the module.

import torch
from torch import nn

torch.manual_seed(0)
enc, head = nn.Sequential(nn.Linear(6, 16), nn.ReLU()), nn.Linear(16, 3)
for p in enc.parameters():
    p.requires_grad = False
opt = torch.optim.Adam([*enc.parameters(), *head.parameters()], 3e-3)
x, y = torch.randn(60, 6), torch.randint(0, 3, (60,))
for epoch in range(8):
    if epoch == 2:
        enc.requires_grad = True
    for i in range(0, 60, 20):
        opt.zero_grad()
        nn.functional.cross_entropy(head(enc(x[i : i + 20])), y[i : i + 20]).backward()
        opt.step()
