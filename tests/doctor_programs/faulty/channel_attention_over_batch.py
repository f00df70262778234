# expect: batch-mixing line 15
# The channel weights are pooled over the batch axis as well, samples share their attention.

import torch
import torch.nn.functional as F
from torch import nn


class SqueezeExcite(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.fc = nn.Linear(channels, channels)

    def forward(self, x):
        pooled = x.mean(dim=(0, 2, 3))
        return x * torch.sigmoid(self.fc(pooled)).view(1, -1, 1, 1)


torch.manual_seed(921)
net = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1),
    nn.ReLU(),
    SqueezeExcite(8),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(8, 2),
)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
images = torch.randn(60, 1, 7, 7)
labels = torch.randint(0, 2, (60,))
images[labels == 1] *= 1.8
for epoch in range(8):
    for xb, yb in zip(images.split(20), labels.split(20)):
        loss = F.cross_entropy(net(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
