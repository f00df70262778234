# expect: param-unused line 13, 16
# The projection of the residual branch is made but the forward adds the plain input.

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.a = nn.Conv2d(c, c, 3, padding=1)
        self.b = nn.Conv2d(c, c, 3, padding=1)
        self.shortcut = nn.Conv2d(c, c, 1)

    def forward(self, x):
        return torch.relu(x + self.b(torch.relu(self.a(x))))


torch.manual_seed(33)
net = nn.Sequential(
    nn.Conv2d(1, 6, 3), Block(6), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 2)
)
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, nesterov=True)
img, lab = torch.randn(24, 1, 8, 8), torch.randint(0, 2, (24,))
for it in range(12):
    loss = nn.CrossEntropyLoss()(net(img), lab)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(it, loss.item())
