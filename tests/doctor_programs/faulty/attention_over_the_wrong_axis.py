# expect: batch-mixing line 14
# Softmax of attention scores over dim 0, which is the batch.

import torch
import torch.nn as nn


class Pool(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.score = nn.Linear(d, 1)

    def forward(self, x):
        w = torch.softmax(self.score(x), dim=0)
        return (w * x).sum(dim=1)


torch.manual_seed(0)
pool, head = Pool(6), nn.Linear(6, 2)
opt = torch.optim.Adam([*pool.parameters(), *head.parameters()], lr=1e-2)
for i in range(25):
    x = torch.randn(16, 5, 6)
    y = (x.mean((1, 2)) > 0).long()
    loss = nn.functional.cross_entropy(head(pool(x)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
