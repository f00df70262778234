"""MONAI: a small U-Net with the Dice loss."""

import torch
from monai.losses import DiceLoss
from monai.networks.nets import UNet

torch.manual_seed(0)
model = UNet(spatial_dims=2, in_channels=1, out_channels=2, channels=(4, 8, 16), strides=(2, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = DiceLoss(to_onehot_y=True, softmax=True)
x, y = torch.randn(2, 1, 16, 16), torch.randint(0, 2, (2, 1, 16, 16)).float()
for _ in range(3):
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.5f}")
