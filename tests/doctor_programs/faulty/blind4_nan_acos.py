# expect: nan-origin line 15

import torch
from torch import nn
import torch.nn.functional as F


class ArcHead(nn.Module):
    def __init__(self, d, c):
        super().__init__()
        self.w = nn.Parameter(torch.eye(d)[:c].clone())

    def forward(self, x, y, m=0.2, s=16.0):
        cos = F.normalize(x) @ F.normalize(self.w).t()
        theta = torch.acos(cos)
        oh = F.one_hot(y, self.w.shape[0]).float()
        return s * torch.cos(theta + m * oh)


torch.manual_seed(0)
head = ArcHead(4, 3)
body = nn.Linear(4, 4, bias=False)
nn.init.eye_(body.weight)
opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.5)
C = torch.eye(4)[:3] * 2 + 0.0
for i in range(40):
    y = torch.randint(0, 3, (64,))
    loss = F.cross_entropy(head(body(C[y]), y), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
