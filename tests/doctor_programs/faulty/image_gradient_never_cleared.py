# expect: missing-zero-grad line 14, 16
# The optimised image's gradient is never reset between the hand-written ascent steps.

import torch
from torch import nn

torch.manual_seed(601)
net = nn.Sequential(nn.Conv2d(1, 6, 3), nn.Tanh(), nn.Flatten(), nn.Linear(6 * 16, 4))
net.requires_grad_(False)
image = (0.1 * torch.randn(1, 1, 6, 6)).requires_grad_(True)
step_size = 0.05
for it in range(25):
    score = net(image)[0, 2] - 0.05 * image.pow(2).sum()
    score.backward()
    with torch.no_grad():
        image += step_size * image.grad
    if it % 5 == 0:
        print(it, score.item())
