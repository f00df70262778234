# expect: param-unused line 14, 19
# The residual block builds a projection shortcut but adds the plain input.

import torch
import torch.nn.functional as F
from torch import nn


class ResidualBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.shortcut = nn.Conv2d(channels, channels, 1)

    def forward(self, x):
        out = F.relu(self.conv1(x))
        out = self.conv2(out)
        return F.relu(out + x)


torch.manual_seed(315)
net = nn.Sequential(
    nn.Conv2d(1, 6, 3, padding=1),
    ResidualBlock(6),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(6, 2),
)
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
images = torch.randn(48, 1, 6, 6)
labels = torch.randint(0, 2, (48,))
images[labels == 1] *= 2.0
for epoch in range(8):
    for xb, yb in zip(images.split(16), labels.split(16)):
        loss = F.cross_entropy(net(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
