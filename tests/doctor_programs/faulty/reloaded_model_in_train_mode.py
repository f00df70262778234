# expect: train-eval-mode line 38
# The final test uses a freshly built model that was never put into eval mode.

import io

import torch
import torch.nn.functional as F
from torch import nn


def build():
    return nn.Sequential(
        nn.Linear(8, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Dropout(0.4), nn.Linear(48, 2)
    )


torch.manual_seed(617)
x = torch.randn(260, 8)
y = (x[:, 0] + x[:, 1] > 0).long()
model = build()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(6):
    model.train()
    for xb, yb in zip(x[:200].split(40), y[:200].split(40)):
        loss = F.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
model.eval()
file = io.BytesIO()
torch.save(model.state_dict(), file)
file.seek(0)

final = build()
final.load_state_dict(torch.load(file))
with torch.no_grad():
    accuracy = (final(x[200:]).argmax(1) == y[200:]).float().mean().item()
print("test accuracy", accuracy)
