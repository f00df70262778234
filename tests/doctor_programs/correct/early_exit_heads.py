# expect: nothing
# A network with two exits, both losses are used with different weights.

import torch
import torch.nn.functional as F
from torch import nn


class MultiExit(nn.Module):
    def __init__(self):
        super().__init__()
        self.stage1 = nn.Sequential(nn.Linear(8, 24), nn.ReLU())
        self.stage2 = nn.Sequential(nn.Linear(24, 24), nn.ReLU())
        self.exit1, self.exit2 = nn.Linear(24, 3), nn.Linear(24, 3)

    def forward(self, x):
        h = self.stage1(x)
        return self.exit1(h), self.exit2(self.stage2(h))


torch.manual_seed(432)
model = MultiExit()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=1e-2)
x = torch.randn(120, 8)
y = x[:, :3].argmax(1)
losses = []
for _ in range(12):
    for xb, yb in zip(x.split(40), y.split(40)):
        early, late = model(xb)
        loss = 0.3 * F.cross_entropy(early, yb) + F.cross_entropy(late, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print(losses[0], losses[-1])
