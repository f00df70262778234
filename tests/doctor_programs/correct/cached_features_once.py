# expect: nothing
# The frozen encoder's features are computed once before the loop under no_grad.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(422)
encoder = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(3), nn.Flatten()
)
encoder.eval()
images = torch.randn(90, 1, 9, 9)
labels = torch.randint(0, 3, (90,))
for c in range(3):
    images[labels == c, :, 3 * c : 3 * c + 3] += 1.0
with torch.no_grad():
    features = encoder(images)
head = nn.Linear(72, 3)
optimizer = torch.optim.Adam(head.parameters(), lr=1e-2)
losses = []
for _ in range(25):
    for fb, yb in zip(features.split(30), labels.split(30)):
        loss = F.cross_entropy(head(fb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print(losses[0], losses[-1])
