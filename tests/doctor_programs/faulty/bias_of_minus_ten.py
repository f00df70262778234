# expect: dead-relu line 14, 17
# The bias initialisation shuts all units.

import torch
from torch import nn


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 32)
        self.b = nn.Linear(32, 1)
        self.act = nn.ReLU()
        nn.init.constant_(self.a.bias, -10.0)

    def forward(self, x):
        return self.b(self.act(self.a(x)))


torch.manual_seed(0)
m = Mlp()
opt = torch.optim.Adam(m.parameters(), lr=1e-3)
for i in range(40):
    x = torch.randn(32, 8)
    loss = nn.functional.mse_loss(m(x), x.sum(1, keepdim=True))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
