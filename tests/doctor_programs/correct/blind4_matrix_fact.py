# expect: nothing

import clew as torch

torch.manual_seed(0)
R = torch.randn(20, 3) @ torch.randn(3, 15)
mask = (torch.rand(20, 15) < 0.7).float()
U = torch.nn.Parameter(torch.randn(20, 3) * 0.3)
V = torch.nn.Parameter(torch.randn(15, 3) * 0.3)
opt = torch.optim.Adam([U, V], lr=0.03)
for ep in range(150):
    pred = U @ V.t()
    loss = (mask * (pred - R) ** 2).sum() / mask.sum() + 1e-3 * (U.pow(2).mean() + V.pow(2).mean())
    opt.zero_grad()
    loss.backward()
    opt.step()
    if ep % 50 == 0:
        print(ep, loss.item())
