# expect: nothing
# Deep equilibrium: fixed point under no_grad, one more step with the graph.

import torch
from torch import nn


class DEQ(nn.Module):
    def __init__(self):
        super().__init__()
        self.W = nn.Linear(8, 8, bias=False)
        self.U = nn.Linear(4, 8)
        nn.init.orthogonal_(self.W.weight, gain=0.5)

    def f(self, z, x):
        return torch.tanh(self.W(z) + self.U(x))

    def forward(self, x):
        with torch.no_grad():
            z = torch.zeros(len(x), 8)
            for _ in range(15):
                z = self.f(z, x)
        return self.f(z, x)


torch.manual_seed(0)
deq, out = DEQ(), nn.Linear(8, 1)
opt = torch.optim.Adam([*deq.parameters(), *out.parameters()], 5e-3)
x = torch.randn(64, 4)
y = x[:, :1] * x[:, 1:2]
for _ in range(20):
    opt.zero_grad()
    l = nn.functional.mse_loss(out(deq(x)), y)
    l.backward()
    opt.step()
