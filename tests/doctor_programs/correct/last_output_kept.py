# expect: nothing
# The module remembers its last attention map, only one graph is ever alive.

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.last_weights = None

    def forward(self, x):
        scores = self.q(x) @ self.k(x).transpose(1, 2) / 8**0.5
        self.last_weights = F.softmax(scores, dim=-1)
        return self.last_weights @ self.v(x)


torch.manual_seed(515)
attention, head = Attention(), nn.Linear(8, 2)
optimizer = torch.optim.Adam([*attention.parameters(), *head.parameters()], lr=1e-2)
x = torch.randn(60, 5, 8)
y = (x[:, 0, 0] > 0).long()
losses = []
for _ in range(60):
    loss = F.cross_entropy(head(attention(x)[:, 0]), y)
    entropy = (
        -(attention.last_weights * attention.last_weights.clamp(min=1e-9).log()).sum(-1).mean()
    )
    optimizer.zero_grad()
    (loss + 0.01 * entropy).backward()
    optimizer.step()
    losses.append(loss.item())
print("map", attention.last_weights[0, 0].detach().max().item())
print(losses[0], losses[-1])
