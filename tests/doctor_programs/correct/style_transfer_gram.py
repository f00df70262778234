# expect: nothing
# The image is the only optimised tensor; Gram matrices of a frozen network give the targets.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(701)
features = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.Tanh(), nn.Conv2d(8, 8, 3, padding=1))
features.requires_grad_(False)


def gram(image):
    f = features(image).flatten(2)
    return f @ f.transpose(1, 2) / f.size(2)


content, style = torch.rand(1, 3, 12, 12), torch.rand(1, 3, 12, 12) ** 3
style_target, content_target = gram(style), features(content)
image = content.clone().requires_grad_(True)
optimizer = torch.optim.Adam([image], lr=2e-2)
losses = []
for _ in range(40):
    style_loss = F.mse_loss(gram(image), style_target)
    content_loss = F.mse_loss(features(image), content_target)
    loss = 100 * style_loss + 0.1 * content_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
