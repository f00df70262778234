# expect: exploding-gradient line 14, 18
# Unnormalised linear attention squares the scale of its input in each of three layers.

import torch
from torch import nn


class LinearAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        return x + self.q(x) @ (self.k(x).transpose(1, 2) @ self.v(x))


torch.manual_seed(923)
tower = nn.Sequential(*[LinearAttention(8) for _ in range(3)])
head = nn.Linear(8, 1)
optimizer = torch.optim.Adam([*tower.parameters(), *head.parameters()], lr=1e-4)
x = torch.randn(16, 12, 8) * 1.5
y = x.mean(dim=(1, 2)).unsqueeze(1)
for epoch in range(5):
    loss = nn.functional.smooth_l1_loss(head(tower(x)[:, 0]), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{epoch} {loss.item():.3e}")
