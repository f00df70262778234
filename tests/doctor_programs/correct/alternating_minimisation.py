# expect: nothing
# Matrix factorisation: the two factors are updated in turn, each with the other fixed.

import torch

torch.manual_seed(437)
truth = torch.randn(30, 3) @ torch.randn(3, 20)
u = (0.5 * torch.randn(30, 3)).requires_grad_()
v = (0.5 * torch.randn(3, 20)).requires_grad_()
opt_u, opt_v = torch.optim.Adam([u], lr=0.05), torch.optim.Adam([v], lr=0.05)
losses = []
for step in range(80):
    if step % 2 == 0:
        loss = (u @ v.detach() - truth).pow(2).mean()
        optimizer = opt_u
    else:
        loss = (u.detach() @ v - truth).pow(2).mean()
        optimizer = opt_v
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
