# expect: inplace-saved-tensor line 16
# The exponentials are normalised with /=, but exp keeps its result for backward.
# saved: line 15

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.score = nn.Linear(dim, 1)

    def forward(self, h):
        weights = torch.exp(self.score(h))
        weights /= weights.sum(dim=1, keepdim=True)
        return (weights * h).sum(dim=1)


torch.manual_seed(318)
pool, head = Attention(5), nn.Linear(5, 2)
optimizer = torch.optim.Adam([*pool.parameters(), *head.parameters()], lr=1e-2)
x = torch.randn(40, 6, 5)
y = (x[:, :, 0].max(dim=1).values > 1.0).long()
for epoch in range(5):
    loss = nn.functional.cross_entropy(head(pool(x)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
