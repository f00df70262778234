# expect: nothing
# Phase one trains an autoencoder, phase two a classifier on its frozen encoder.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(712)
encoder, decoder = nn.Sequential(nn.Linear(10, 16), nn.ReLU()), nn.Linear(16, 10)
x = torch.randn(120, 10)
y = x[:, :2].argmax(1)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=5e-3)
for _ in range(30):
    loss = F.mse_loss(decoder(encoder(x)), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("reconstruction", loss.item())

for p in encoder.parameters():
    p.requires_grad_(False)
head = nn.Linear(16, 2)
optimizer = torch.optim.Adam(head.parameters(), lr=1e-2)
losses = []
for _ in range(60):
    loss = F.cross_entropy(head(encoder(x)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
