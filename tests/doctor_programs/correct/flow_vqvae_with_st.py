# expect: nothing

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
        d = (
            z.pow(2).sum(1, keepdim=True)
            - 2 * z @ self.codes.weight.t()
            + self.codes.weight.pow(2).sum(1)
        )
        q = self.codes(d.argmin(1))
        loss = ((q - z.detach()) ** 2).mean() + 0.25 * ((q.detach() - z) ** 2).mean()
        st = z + (q - z).detach()
        return self.dec(st), loss


torch.manual_seed(0)
vq = VQ()
opt = torch.optim.Adam(vq.parameters(), lr=1e-3)
for i in range(40):
    x = torch.randn(32, 12)
    out, extra = vq(x)
    loss = (out - x).pow(2).mean() + extra
    opt.zero_grad()
    loss.backward()
    opt.step()
