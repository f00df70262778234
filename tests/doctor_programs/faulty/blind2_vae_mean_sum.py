# expect: wrong-reduction line 14, 15, 16

import clew as torch
import clew.nn as nn
import clew.nn.functional as F

torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 8))
dec = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 20))
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=1e-3)


def loss_fn(rec, x, mu, lv):
    mse = F.mse_loss(rec, x)
    kld = -0.5 * torch.sum(1 + lv - mu**2 - lv.exp())
    return mse + kld


for i in range(40):
    x = torch.randn(64, 20)
    mu, lv = enc(x).chunk(2, dim=1)
    z = mu + torch.randn_like(mu) * torch.exp(0.5 * lv)
    loss = loss_fn(dec(z), x, mu, lv)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
