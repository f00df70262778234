# expect: param-unused line 12, 16
# The decoder of a Siamese pair calls the left encoder for both sides.

import torch
from torch import nn


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.left_encoder = nn.Sequential(nn.Linear(5, 12), nn.ReLU())
        self.right_encoder = nn.Sequential(nn.Linear(5, 12), nn.ReLU())
        self.score = nn.Bilinear(12, 12, 1)

    def forward(self, a, b):
        return self.score(self.left_encoder(a), self.left_encoder(b)).squeeze(-1)


torch.manual_seed(0)
net = Pair()
opt = torch.optim.Adam(net.parameters(), 3e-3)
for _ in range(20):
    a, b = torch.randn(32, 5), torch.randn(32, 5)
    loss = nn.functional.mse_loss(net(a, b), (a * b).sum(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
