# expect: nothing
# Biases and norms get no weight decay; parameters are split by dimension.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(435)


class Mixer(nn.Module):
    def __init__(self, tokens=6, dim=12):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.token_mlp = nn.Sequential(nn.Linear(tokens, 12), nn.GELU(), nn.Linear(12, tokens))
        self.channel_mlp = nn.Sequential(nn.Linear(dim, 24), nn.GELU(), nn.Linear(24, dim))
        self.head = nn.Linear(dim, 2)

    def forward(self, x):
        x = x + self.token_mlp(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        x = x + self.channel_mlp(self.norm2(x))
        return self.head(x.mean(dim=1))


model = Mixer()
decay = [p for p in model.parameters() if p.dim() > 1]
no_decay = [p for p in model.parameters() if p.dim() <= 1]
optimizer = torch.optim.AdamW(
    [{"params": decay, "weight_decay": 0.05}, {"params": no_decay, "weight_decay": 0.0}], lr=5e-3
)
x = torch.randn(90, 6, 12)
y = (x[:, 0, 0] > x[:, -1, 1]).long()
losses = []
for _ in range(12):
    for xb, yb in zip(x.split(30), y.split(30)):
        loss = F.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print(losses[0], losses[-1])
