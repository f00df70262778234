# expect: bad-init line 13, 14
# Both low-rank factors start at zero: each one's gradient is multiplied by the other's zeros.

import torch
import torch.nn.functional as F
from torch import nn


class Adapter(nn.Module):
    def __init__(self, layer, rank=3):
        super().__init__()
        self.layer = layer.requires_grad_(False)
        self.down = nn.Parameter(torch.zeros(rank, layer.in_features))
        self.up = nn.Parameter(torch.zeros(layer.out_features, rank))

    def forward(self, x):
        return self.layer(x) + F.linear(F.linear(x, self.down), self.up)


torch.manual_seed(198)
base = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 5))
model = nn.Sequential(Adapter(base[0]), nn.ReLU(), Adapter(base[2]))
trainable = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(trainable, lr=1e-2, weight_decay=0.0)
x = torch.randn(100, 10)
y = x[:, 5:].argmax(dim=1)
for epoch in range(10):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 3 == 0:
        print(f"epoch {epoch} loss {loss.item():.5f}")
