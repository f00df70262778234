# expect: nothing
# Gates are meant to saturate: a hard-concrete-like selection.

import clew as torch
from clew import nn

torch.manual_seed(0)


class Gate(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.logit = nn.Parameter(torch.full((n,), 2.0))

    def forward(self, x):
        u = torch.rand_like(self.logit).clamp(1e-4, 1 - 1e-4)
        s = torch.sigmoid((u.log() - (1 - u).log() + self.logit) / 0.5)
        return x * (s * 1.2 - 0.1).clamp(0, 1)


gate, lin = Gate(10), nn.Linear(10, 1)
opt = torch.optim.Adam([*gate.parameters(), *lin.parameters()], lr=2e-2)
for i in range(60):
    x = torch.randn(32, 10)
    loss = nn.functional.mse_loss(lin(gate(x)), x[:, :1]) + 0.01 * gate.logit.sigmoid().sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item(), gate.logit.detach())
