# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
F_, G_ = nn.Linear(4, 4), nn.Linear(4, 4)
opt = torch.optim.Adam([*F_.parameters(), *G_.parameters()], lr=1e-2)
A = torch.randn(4, 4)
for i in range(120):
    x = torch.randn(32, 4)
    y = x @ A
    fx = F_(x)
    loss = (
        nn.functional.mse_loss(fx, y)
        + nn.functional.l1_loss(G_(fx), x)
        + nn.functional.l1_loss(F_(G_(y)), y)
    )
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 30 == 0:
        print(i, loss.item())
