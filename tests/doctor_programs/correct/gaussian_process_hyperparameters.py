# expect: nothing
# Marginal likelihood of a Gaussian process in float64 through a Cholesky factor.

import math

import torch

torch.manual_seed(412)
x = torch.linspace(0, 4, 30, dtype=torch.float64)
y = torch.sin(2 * x) + 0.1 * torch.randn(30, dtype=torch.float64)
log_length = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
log_noise = torch.tensor(0.0, dtype=torch.float64, requires_grad=True)
optimizer = torch.optim.Adam([log_length, log_noise], lr=0.1)
losses = []
for _ in range(50):
    d2 = (x.unsqueeze(0) - x.unsqueeze(1)) ** 2
    kernel = torch.exp(-0.5 * d2 / torch.exp(2 * log_length))
    kernel = kernel + (torch.exp(log_noise) ** 2 + 1e-6) * torch.eye(30, dtype=torch.float64)
    factor = torch.linalg.cholesky(kernel)
    alpha = torch.cholesky_solve(y.unsqueeze(1), factor).squeeze(1)
    loss = 0.5 * y @ alpha + factor.diagonal().log().sum() + 15 * math.log(2 * math.pi)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
