# expect: loss-activation-mismatch line 17, 21
# The decoder ends in a sigmoid and the helper uses the with-logits loss.

import torch
from torch import nn


class UNetLike(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.up = nn.ConvTranspose2d(8, 8, 2, stride=2)
        self.out = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        h = torch.relu(self.up(self.down(x)))
        return torch.sigmoid(self.out(h))


def segmentation_loss(mask_pred, mask):
    return nn.functional.binary_cross_entropy_with_logits(mask_pred, mask)


torch.manual_seed(335)
images = torch.randn(24, 1, 8, 8)
images[:, :, 2:6, 2:6] += 2.0
masks = torch.zeros(24, 1, 8, 8)
masks[:, :, 2:6, 2:6] = 1.0
net = UNetLike()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(8):
    for xb, yb in zip(images.split(8), masks.split(8)):
        loss = segmentation_loss(net(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
