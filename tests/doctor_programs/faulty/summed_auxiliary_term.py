# expect: wrong-reduction line 18, 19, 31
# The classification term is a mean, the reconstruction term sums over batch and features.

import torch
import torch.nn.functional as F
from torch import nn


class SemiSupervised(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(30, 16), nn.ReLU())
        self.dec = nn.Linear(16, 30)
        self.cls = nn.Linear(16, 3)

    def losses(self, x, y):
        h = self.enc(x)
        classify = F.cross_entropy(self.cls(h), y)
        reconstruct = F.mse_loss(self.dec(h), x, reduction="sum")
        return classify, reconstruct


torch.manual_seed(336)
x = torch.randn(128, 30)
y = x[:, :3].argmax(1)
model = SemiSupervised()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(6):
    for xb, yb in zip(x.split(64), y.split(64)):
        classify, reconstruct = model.losses(xb, yb)
        loss = classify + reconstruct
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, classify.item(), reconstruct.item())
