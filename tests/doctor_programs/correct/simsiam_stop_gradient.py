# expect: nothing
# SimSiam as published: the projections are detached, the predictor learns.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(224)


class SimSiam(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(12, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 16)
        )
        self.predictor = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 16))

    def forward(self, a, b):
        za, zb = self.encoder(a), self.encoder(b)
        pa, pb = self.predictor(za), self.predictor(zb)
        loss = F.cosine_similarity(pa, zb.detach(), dim=1).mean()
        return -0.5 * (loss + F.cosine_similarity(pb, za.detach(), dim=1).mean())


model = SimSiam()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
data = torch.randn(128, 12)
losses = []
for _ in range(8):
    for batch in data.split(32):
        noise = 0.2 * torch.randn(2, *batch.shape)
        loss = model(batch + noise[0], batch + noise[1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print("similarity loss", losses[0], losses[-1])
