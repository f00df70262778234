# expect: nothing
# Gradient ascent on an image: its gradient is reset, the network's parameters stay as they are.

import torch
from torch import nn

torch.manual_seed(700)
net = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.Conv2d(6, 4, 3), nn.ReLU())
net.eval()
image = torch.rand(1, 1, 10, 10, requires_grad=True)
activity = []
for _ in range(25):
    objective = net(image)[0, 2].mean()
    net.zero_grad()
    objective.backward()
    with torch.no_grad():
        image += 0.5 * image.grad / (image.grad.abs().mean() + 1e-8)
        image.clamp_(-3, 3)
    image.grad.zero_()
    activity.append(-objective.item())
print("negative activity", activity[0], activity[-1])
