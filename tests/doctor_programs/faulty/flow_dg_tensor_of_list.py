# expect: detached-graph line 16, 17

import torch
from torch import nn

torch.manual_seed(0)


class Bags(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(4, 8)
        self.g = nn.Linear(8, 1)

    def forward(self, bags):
        feats = [torch.relu(self.f(b)).max(0).values.tolist() for b in bags]
        return self.g(torch.tensor(feats)).squeeze(1)


m = Bags()
opt = torch.optim.SGD(m.parameters(), lr=0.05)
for i in range(25):
    bags = [torch.randn(torch.randint(2, 6, (1,)).item(), 4) for _ in range(8)]
    y = torch.tensor([b[:, 0].max().item() for b in bags])
    loss = (m(bags) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
