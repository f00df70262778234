# expect: vanishing-gradient line 12, 16, 18
# Twelve sigmoid layers without normalisation: the first layers get almost no gradient.

import torch
from torch import nn


class DeepNet(nn.Module):
    def __init__(self, depth=12, width=16):
        super().__init__()
        self.first = nn.Linear(4, width)
        self.hidden = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.last = nn.Linear(width, 1)

    def forward(self, x):
        h = torch.sigmoid(self.first(x))
        for layer in self.hidden:
            h = torch.sigmoid(layer(h))
        return self.last(h)


torch.manual_seed(98)
x = torch.randn(128, 4)
y = (x[:, :1] * x[:, 1:2] > 0).float()
net = DeepNet()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(15):
    loss = nn.functional.binary_cross_entropy_with_logits(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 5 == 0:
        print(epoch, loss.item(), net.first.weight.grad.abs().mean().item())
