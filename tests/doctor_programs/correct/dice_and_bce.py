# expect: nothing
# BCE with logits plus a Dice term on the sigmoid of the same logits.

import torch
from torch import nn


class DiceBCE(nn.Module):
    def forward(self, logits, mask):
        bce = nn.functional.binary_cross_entropy_with_logits(logits, mask)
        p = torch.sigmoid(logits).flatten(1)
        m = mask.flatten(1)
        dice = (2 * (p * m).sum(1) + 1) / (p.sum(1) + m.sum(1) + 1)
        return bce + (1 - dice).mean()


torch.manual_seed(1007)
masks = torch.zeros(32, 1, 8, 8)
for i in range(32):
    r, c = torch.randint(0, 5, (2,)).tolist()
    masks[i, 0, r : r + 4, c : c + 4] = 1.0
images = masks + 0.5 * torch.randn_like(masks)
net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1))
criterion = DiceBCE()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
losses = []
for _ in range(10):
    for xb, yb in zip(images.split(8), masks.split(8)):
        loss = criterion(net(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print(losses[0], losses[-1])
