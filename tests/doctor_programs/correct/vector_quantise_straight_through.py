# expect: nothing
# VQ with straight-through estimator and commitment.

import clew as torch
from clew import nn

torch.manual_seed(0)
enc, dec = nn.Linear(6, 4), nn.Linear(4, 6)
book = nn.Embedding(16, 4)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters(), *book.parameters()], lr=3e-3)
for i in range(40):
    x = torch.randn(32, 6)
    z = enc(x)
    idx = torch.cdist(z, book.weight).argmin(1)
    q = book(idx)
    st = z + (q - z).detach()
    loss = (
        nn.functional.mse_loss(dec(st), x)
        + nn.functional.mse_loss(q, z.detach())
        + 0.25 * nn.functional.mse_loss(z, q.detach())
    )
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
