# expect: nothing
# A masked autoencoder: tokens are shuffled and restored by argsort.

import clew as torch
from clew import nn


class Mae(nn.Module):
    def __init__(self, n=10, d=12):
        super().__init__()
        self.n = n
        self.inp = nn.Linear(4, d)
        self.pos = nn.Parameter(torch.randn(1, n, d) * 0.1)
        self.mask = nn.Parameter(torch.zeros(1, 1, d))
        self.enc = nn.TransformerEncoderLayer(d, 2, 24, 0.0, batch_first=True)
        self.dec = nn.TransformerEncoderLayer(d, 2, 24, 0.0, batch_first=True)
        self.out = nn.Linear(d, 4)

    def forward(self, x):
        b = len(x)
        order = torch.rand(b, self.n).argsort(1)
        restore = order.argsort(1)
        keep = order[:, : self.n // 2]
        h = self.inp(x) + self.pos
        vis = self.enc(h.gather(1, keep.unsqueeze(-1).expand(-1, -1, h.shape[-1])))
        full = torch.cat([vis, self.mask.expand(b, self.n - self.n // 2, -1)], 1)
        full = full.gather(1, restore.unsqueeze(-1).expand(-1, -1, h.shape[-1]))
        rec = self.out(self.dec(full + self.pos))
        m = (restore >= self.n // 2).float()
        return ((rec - x).pow(2).mean(-1) * m).sum() / m.sum()


torch.manual_seed(0)
mae = Mae()
opt = torch.optim.AdamW(mae.parameters(), lr=1e-3)
for i in range(15):
    t = torch.linspace(0, 1, 10).view(1, 10, 1) * torch.randn(8, 1, 4)
    loss = mae(t)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
