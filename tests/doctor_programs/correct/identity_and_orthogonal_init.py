# expect: nothing
# Recurrent weights start at the identity, gates at constants: usual tricks, not symmetric units.

import torch
from torch import nn

torch.manual_seed(1011)


class IRNN(nn.Module):
    def __init__(self, n_in=2, hidden=20):
        super().__init__()
        self.inp, self.rec = nn.Linear(n_in, hidden), nn.Linear(hidden, hidden, bias=False)
        self.out = nn.Linear(hidden, 1)
        nn.init.eye_(self.rec.weight)
        nn.init.zeros_(self.inp.bias)
        nn.init.orthogonal_(self.inp.weight, gain=0.5)
        nn.init.constant_(self.out.bias, 0.5)

    def forward(self, x):
        h = torch.zeros(x.size(0), 20)
        for t in range(x.size(1)):
            h = torch.relu(self.inp(x[:, t]) + self.rec(h))
        return self.out(h)


model = IRNN()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
x = torch.rand(80, 8, 2)
y = x[:, :, :1].mean(dim=1)
losses = []
for _ in range(60):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
