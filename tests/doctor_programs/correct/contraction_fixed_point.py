# expect: nothing
# A deep equilibrium-like layer iterates a contraction twenty times.

import torch
from torch import nn

torch.manual_seed(0)
W = nn.Parameter(torch.randn(8, 8) * 0.15)
U = nn.Linear(4, 8)
out = nn.Linear(8, 1)
opt = torch.optim.Adam([W, *U.parameters(), *out.parameters()], lr=3e-3)
for i in range(25):
    x = torch.randn(16, 4)
    z = torch.zeros(16, 8)
    for _ in range(20):
        z = torch.tanh(z @ W + U(x))
    loss = nn.functional.mse_loss(out(z), x[:, :1])
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
