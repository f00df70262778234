# expect: wrong-reduction line 18
import torch
from torch import nn

torch.manual_seed(1)
x = torch.rand(400, 1) * 6
y = torch.sin(x) + 0.1 * torch.randn(400, 1)
centers = torch.linspace(0, 6, 40)
mean = nn.Parameter(torch.zeros(40, 1))
log_std = nn.Parameter(torch.full((40, 1), -2.0))
optimizer = torch.optim.Adam([mean, log_std], lr=0.02)
for step in range(60):
    rows = torch.randint(0, 400, (50,))
    features = torch.exp(-((x[rows] - centers) ** 2))
    weights = mean + log_std.exp() * torch.randn(40, 1)
    misfit = ((features @ weights - y[rows]) ** 2).mean()
    prior = 0.5 * (mean**2 + (2 * log_std).exp() - 2 * log_std - 1)
    loss = misfit + prior.sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
