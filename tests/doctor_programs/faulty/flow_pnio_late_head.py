# expect: param-not-in-optimizer line 16, 21, 22

import torch
from torch import nn


class Lazy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 16)
        self.head = None

    def forward(self, x):
        h = torch.relu(self.body(x))
        if self.head is None:
            self.head = nn.Linear(16, 3)
        return self.head(h)


torch.manual_seed(0)
m = Lazy()
opt = torch.optim.Adam(m.parameters(), lr=1e-3)
for i in range(25):
    x = torch.randn(32, 6)
    loss = nn.functional.cross_entropy(m(x), x[:, :3].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
