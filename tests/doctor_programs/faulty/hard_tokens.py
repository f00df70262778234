# expect: detached-graph line 18

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(8, 5)
        self.emb = nn.Embedding(5, 8)
        self.out = nn.Linear(8, 3)

    def forward(self, x):
        idx = self.score(x).argmax(dim=-1)
        return self.out(self.emb(idx))


x = torch.randn(64, 8)
y = torch.randint(0, 3, (64,))
m = M()
opt = torch.optim.Adam(m.parameters(), lr=0.01)
for i in range(20):
    opt.zero_grad()
    F.cross_entropy(m(x), y).backward()
    opt.step()
