# expect: detached-graph line 18, 19

import torch
import torch.nn as nn
import torch.nn.functional as F


class VQ(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(12, 6)
        self.codes = nn.Embedding(16, 6)
        self.dec = nn.Linear(6, 12)

    def forward(self, x):
        z = self.enc(x)
        d = torch.cdist(z, self.codes.weight)
        k = d.argmin(1)
        q = self.codes(k)
        out = self.dec(q)
        return out, F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(z, q.detach())


torch.manual_seed(0)
vq = VQ()
opt = torch.optim.Adam(vq.parameters(), lr=1e-3)
for i in range(40):
    x = torch.randn(32, 12)
    out, extra = vq(x)
    loss = F.mse_loss(out, x) + extra
    opt.zero_grad()
    loss.backward()
    opt.step()
