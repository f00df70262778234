# expect: nothing
# VQ-VAE: codebook and commitment terms with crosswise detach, straight-through decode.

import torch
import torch.nn.functional as F
from torch import nn


class VQ(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Linear(6, 4)
        self.cb = nn.Embedding(8, 4)
        self.d = nn.Linear(4, 6)

    def forward(self, x):
        z = self.e(x)
        idx = torch.cdist(z, self.cb.weight).argmin(1)
        q = self.cb(idx)
        aux = F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(z, q.detach())
        return self.d(z + (q - z).detach()), aux


torch.manual_seed(0)
m = VQ()
o = torch.optim.Adam(m.parameters(), 5e-3)
x = torch.randn(64, 6)
for _ in range(25):
    r, aux = m(x)
    l = F.mse_loss(r, x) + aux
    o.zero_grad()
    l.backward()
    o.step()
print(l.item())
