# expect: nothing
# A linear probe: the backbone is frozen on purpose and runs under no_grad.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(202)


class Probe(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.head = nn.Linear(64, 3)
        for p in self.backbone.parameters():
            p.requires_grad = False

    def forward(self, x):
        with torch.no_grad():
            features = self.backbone(x)
        return self.head(features)


x = torch.randn(150, 10)
y = x[:, :3].argmax(1)
model = Probe()
optimizer = torch.optim.Adam(model.head.parameters(), lr=1e-2)
losses = []
for _ in range(12):
    for xb, yb in zip(x.split(50), y.split(50)):
        loss = F.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print(f"probe loss {losses[0]:.4f} -> {losses[-1]:.4f}")
