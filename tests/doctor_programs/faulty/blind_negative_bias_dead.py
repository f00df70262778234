# expect: dead-relu line 13, 16
# A large negative bias leaves no unit of the hidden layer active.

import torch
from torch import nn


class Sparse(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(6, 40)
        self.down = nn.Linear(40, 1)
        nn.init.constant_(self.up.bias, -6.0)

    def forward(self, x):
        h = self.up(x).clamp_min(0) if not self.training else torch.relu(self.up(x))
        return self.down(h)


torch.manual_seed(0)
m = Sparse()
o = torch.optim.Adam(m.parameters(), lr=1e-3)
X = torch.rand(100, 6)
Y = X.prod(1, keepdim=True)
for _ in range(20):
    o.zero_grad()
    L = nn.functional.mse_loss(m(X), Y)
    L.backward()
    o.step()
print(L)
