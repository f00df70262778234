# expect: fp16-underflow line 15, 25, 27
# Per-pixel losses are averaged in float16, their gradients fall below the smallest half.

import torch
import torch.nn.functional as F
from torch import nn


class Upsampler(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1024))

    def forward(self, z):
        return self.net(z).half()


torch.manual_seed(342)
model = Upsampler()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
z = torch.randn(64, 8)
target = 0.01 * torch.tanh(z @ torch.randn(8, 1024) / 3)
for step in range(8):
    out = model(z)
    loss = F.mse_loss(0.01 * out, target.half())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    zeros = (model.net[2].weight.grad == 0).float().mean().item()
    print(f"{step} loss {loss.item():.3e} zero gradients {zeros:.2f}")
