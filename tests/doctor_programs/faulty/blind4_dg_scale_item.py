# expect: detached-graph line 15

import clew as torch
import clew.nn as nn


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 8)
        self.alpha = nn.Parameter(torch.ones(1))
        self.o = nn.Linear(8, 1)

    def forward(self, x):
        return self.o(torch.tanh(self.l(x)) * float(self.alpha))


torch.manual_seed(0)
m = Scaled()
opt = torch.optim.Adam(m.parameters(), lr=1e-2)
for i in range(60):
    x = torch.randn(32, 4)
    loss = nn.functional.mse_loss(m(x), 3 * x[:, :1])
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item(), m.alpha)
