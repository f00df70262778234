# expect: exploding-gradient line 16, 23
# Each residual block multiplies its branch by a gain of 6, fourteen blocks blow up.

import torch
import torch.nn.functional as F
from torch import nn


class ResBlock(nn.Module):
    def __init__(self, dim, gain):
        super().__init__()
        self.fc = nn.Linear(dim, dim)
        self.gain = gain

    def forward(self, x):
        return x + self.gain * F.relu(self.fc(x))


class ResNet(nn.Module):
    def __init__(self, dim=24, blocks=14, gain=6.0):
        super().__init__()
        self.stem = nn.Linear(8, dim)
        self.blocks = nn.Sequential(*[ResBlock(dim, gain) for _ in range(blocks)])
        self.head = nn.Linear(dim, 2)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)))


torch.manual_seed(103)
x = torch.randn(80, 8)
y = (x[:, 0] > x[:, 1]).long()
model = ResNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
for epoch in range(6):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    norm = sum(p.grad.norm() ** 2 for p in model.parameters()) ** 0.5
    optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.3e} grad norm {norm.item():.3e}")
