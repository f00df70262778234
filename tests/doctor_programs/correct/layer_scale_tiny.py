# expect: nothing
# Residual branches start with a scale of 1e-4 on purpose (LayerScale).

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc1, self.fc2 = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)
        self.scale = nn.Parameter(1e-4 * torch.ones(dim))

    def forward(self, x):
        return x + self.scale * self.fc2(F.gelu(self.fc1(self.norm(x))))


torch.manual_seed(506)
model = nn.Sequential(nn.Linear(6, 16), Block(16), Block(16), Block(16), nn.Linear(16, 3))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
x = torch.randn(120, 6)
y = x[:, :3].argmax(1)
losses = []
for _ in range(30):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
