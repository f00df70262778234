# expect: nothing
# After training, the gradient with respect to the input is read for a saliency map.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(281)
x = torch.randn(100, 1, 6, 6)
y = (x[:, 0, :3, :3].mean(dim=(1, 2)) > 0).long()
model = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(6 * 36, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
losses = []
for _ in range(10):
    for xb, yb in zip(x.split(25), y.split(25)):
        loss = F.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
model.eval()
image = x[:1].clone().requires_grad_(True)
score = model(image)[0, y[0]]
score.backward()
saliency = image.grad.abs().squeeze()
print("inside", saliency[:3, :3].mean().item(), "outside", saliency[3:, 3:].mean().item())
print("loss", losses[0], losses[-1])
