# expect: nothing
# (N, 1) against (1, M) on purpose: a kernel regression over all pairs.

import torch

torch.manual_seed(273)
x = torch.sort(torch.rand(60) * 6).values
y = torch.sin(x)
centers = torch.linspace(0, 6, 12).requires_grad_()
weights = torch.zeros(12, requires_grad=True)
log_width = torch.tensor(-0.5, requires_grad=True)
optimizer = torch.optim.Adam([centers, weights, log_width], lr=5e-2)
losses = []
for _ in range(60):
    distance = x.unsqueeze(1) - centers.unsqueeze(0)
    kernel = torch.exp(-((distance / log_width.exp()) ** 2))
    prediction = kernel @ weights
    loss = (prediction - y).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
