# expect: detached-graph line 16

import torch
from torch import nn


class Sel(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(6, 1)
        self.val = nn.Linear(6, 8)
        self.out = nn.Linear(8, 2)

    def forward(self, x):
        s = self.score(x).squeeze(-1)
        top = s.topk(2, dim=1).indices
        v = torch.gather(self.val(x), 1, top.unsqueeze(-1).expand(-1, -1, 8))
        return self.out(v.mean(1))


torch.manual_seed(0)
m = Sel()
opt = torch.optim.Adam(m.parameters(), lr=1e-3)
for i in range(30):
    x = torch.randn(16, 7, 6)
    y = (x[:, :, 0].max(1).values > 1).long()
    loss = nn.functional.cross_entropy(m(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
