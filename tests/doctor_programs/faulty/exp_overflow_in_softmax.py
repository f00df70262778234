# expect: nan-origin line 17
# The home-made softmax exponentiates raw scores without subtracting the maximum.

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q = nn.Linear(dim, dim, bias=False)
        self.k = nn.Linear(dim, dim, bias=False)
        self.v = nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        scores = self.q(x) @ self.k(x).transpose(-2, -1)
        weights = torch.exp(scores)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        return weights @ self.v(x)


def batch(step, n=16, length=5, dim=8):
    generator = torch.Generator().manual_seed(step)
    x = torch.randn(n, length, dim, generator=generator) * (1.0 + 1.5 * step)
    return x, x.mean(dim=(1, 2)).unsqueeze(1)


torch.manual_seed(95)
attention, out = Attention(8), nn.Linear(8, 1)
optimizer = torch.optim.Adam([*attention.parameters(), *out.parameters()], lr=1e-3)
for step in range(12):
    x, y = batch(step)
    prediction = out(attention(x).mean(dim=1))
    loss = nn.functional.smooth_l1_loss(prediction, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
