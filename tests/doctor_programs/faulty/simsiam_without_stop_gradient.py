# expect: target-not-detached line 18, 23, 28
# SimSiam compares with projections that were not detached, nothing prevents the collapse.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(64)


class SimSiam(nn.Module):
    def __init__(self, dim=12, proj=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, proj))
        self.predictor = nn.Sequential(nn.Linear(proj, 4), nn.ReLU(), nn.Linear(4, proj))

    def forward(self, a, b):
        za, zb = self.encoder(a), self.encoder(b)
        return self.predictor(za), self.predictor(zb), za, zb


def negative_cosine(p, z):
    return -F.cosine_similarity(p, z, dim=1).mean()


def loss_of(model, x):
    pa, pb, za, zb = model(x + 0.3 * torch.randn_like(x), x + 0.3 * torch.randn_like(x))
    return 0.5 * negative_cosine(pa, zb) + 0.5 * negative_cosine(pb, za)


model = SimSiam()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
data = torch.randn(128, 12)
for epoch in range(8):
    for batch in data.split(32):
        loss = loss_of(model, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        spread = F.normalize(model.encoder(data), dim=1).std(dim=0).mean().item()
    print(f"epoch {epoch} loss {loss.item():.4f} spread {spread:.4f}")
