# expect: nothing
# LBFGS with strong Wolfe line search on a physics-like least squares.

import torch

torch.manual_seed(0)
theta = torch.tensor([0.5, 0.5, 0.0], requires_grad=True)
t = torch.linspace(0, 4, 80)
data = 1.3 * torch.exp(-0.7 * t) + 0.2 + 0.01 * torch.randn(80)
opt = torch.optim.LBFGS([theta], lr=1, max_iter=15, line_search_fn="strong_wolfe")


def closure():
    opt.zero_grad()
    pred = theta[0] * torch.exp(-theta[1] * t) + theta[2]
    loss = (pred - data).pow(2).sum()
    loss.backward()
    return loss


for _ in range(3):
    final = opt.step(closure)
print(theta.detach(), final.item())
