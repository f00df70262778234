# expect: nothing

import torch
from torch import nn
import torch.nn.functional as F


class VQ(nn.Module):
    def __init__(self, k=16, d=8):
        super().__init__()
        self.emb = nn.Embedding(k, d)
        nn.init.uniform_(self.emb.weight, -0.5, 0.5)

    def forward(self, z):
        dist = torch.cdist(z, self.emb.weight)
        idx = dist.argmin(1)
        e = self.emb(idx)
        loss = F.mse_loss(e, z.detach()) + 0.25 * F.mse_loss(z, e.detach())
        return z + (e - z).detach(), loss


torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 8))
dec = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 20))
vq = VQ()
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters(), *vq.parameters()], lr=2e-3)
data = torch.randn(8, 20)[torch.randint(0, 8, (320,))] + 0.05 * torch.randn(320, 20)
for ep in range(10):
    for xb in data.split(32):
        q, lq = vq(enc(xb))
        loss = F.mse_loss(dec(q), xb) + lq
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(ep, loss.item())
