# expect: bad-init line 15, 16
# Both factors of a matrix factorisation start at zero.

import clew as torch
from clew import nn

torch.manual_seed(0)


class MF(nn.Module):
    def __init__(self, users=20, items=15, d=6):
        super().__init__()
        self.u = nn.Embedding(users, d)
        self.v = nn.Embedding(items, d)
        nn.init.zeros_(self.u.weight)
        nn.init.zeros_(self.v.weight)

    def forward(self, i, j):
        return (self.u(i) * self.v(j)).sum(1)


mf = MF()
opt = torch.optim.Adam(mf.parameters(), lr=1e-2)
for step in range(30):
    i, j = torch.randint(0, 20, (32,)), torch.randint(0, 15, (32,))
    r = (i % 3 == j % 3).float() * 2 - 1
    loss = nn.functional.mse_loss(mf(i, j), r)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
