# expect: param-unused line 15, 20
# norm2 is constructed but forward() applies norm1 twice.

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc1 = nn.Linear(dim, 2 * dim)
        self.fc2 = nn.Linear(2 * dim, dim)
        self.norm1 = nn.LayerNorm(dim)
        self.norm2 = nn.LayerNorm(dim)
        self.mixer = nn.Linear(dim, dim)

    def forward(self, x):
        x = x + self.mixer(self.norm1(x))
        return x + self.fc2(F.gelu(self.fc1(self.norm1(x))))


torch.manual_seed(54)
model = nn.Sequential(nn.Linear(5, 16), Block(16), Block(16), nn.Linear(16, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
x = torch.randn(64, 5)
y = torch.sin(x.sum(dim=1, keepdim=True))
for step in range(25):
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 8 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
