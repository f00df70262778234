# expect: nothing
# Supervised and consistency losses are two graphs whose gradients add up for one step.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(279)
x_labelled, x_unlabelled = torch.randn(40, 6), torch.randn(120, 6)
y = x_labelled[:, :3].argmax(1)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
losses = []
for _ in range(40):
    optimizer.zero_grad()
    supervised = F.cross_entropy(model(x_labelled), y)
    supervised.backward()
    with torch.no_grad():
        pseudo = F.softmax(model(x_unlabelled), dim=1)
    noisy = model(x_unlabelled + 0.1 * torch.randn_like(x_unlabelled))
    consistency = 0.3 * F.mse_loss(F.softmax(noisy, dim=1), pseudo)
    consistency.backward()
    optimizer.step()
    losses.append(supervised.item())
print("supervised", losses[0], losses[-1])
