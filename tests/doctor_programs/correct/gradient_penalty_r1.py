# expect: nothing
# R1 penalty every few steps (lazy regularisation) with create_graph.

import torch
from torch import nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.Softplus(), nn.Linear(16, 1))
go, do = torch.optim.Adam(G.parameters(), 1e-3), torch.optim.Adam(D.parameters(), 1e-3)
sp = nn.functional.softplus
for it in range(24):
    real = torch.randn(16, 2) * 0.3 + 1
    real.requires_grad_(it % 4 == 0)
    d_real = D(real)
    loss = sp(-d_real).mean() + sp(D(G(torch.randn(16, 3)).detach())).mean()
    if it % 4 == 0:
        (g,) = torch.autograd.grad(d_real.sum(), real, create_graph=True)
        loss = loss + 2.0 * g.square().sum(1).mean()
    do.zero_grad()
    loss.backward()
    do.step()
    gl = sp(-D(G(torch.randn(16, 3)))).mean()
    go.zero_grad()
    gl.backward()
    go.step()
print(loss.item(), gl.item())
