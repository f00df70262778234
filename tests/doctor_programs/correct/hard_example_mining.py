# expect: nothing
# Only the largest per-sample losses of a batch are averaged.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(409)
x = torch.randn(200, 6)
y = (x[:, 0] > 0).long()
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)


def ohem(logits, target, keep=0.5):
    losses = F.cross_entropy(logits, target, reduction="none")
    return losses.topk(int(keep * len(losses))).values.mean()


history = []
for _ in range(15):
    for xb, yb in zip(x.split(50), y.split(50)):
        loss = ohem(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss.item())
print(history[0], history[-1])
