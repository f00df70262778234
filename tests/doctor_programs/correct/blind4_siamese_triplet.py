# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
emb = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 8))
opt = torch.optim.Adam(emb.parameters(), lr=1e-3)
crit = nn.TripletMarginLoss(margin=1.0)
cent = torch.randn(6, 8) * 1.5
for i in range(80):
    c = torch.randint(0, 6, (32,))
    d = (c + torch.randint(1, 6, (32,))) % 6
    a, p, n = (
        cent[c] + torch.randn(32, 8),
        cent[c] + torch.randn(32, 8),
        cent[d] + torch.randn(32, 8),
    )
    loss = crit(emb(a), emb(p), emb(n))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 20 == 0:
        print(i, loss.item())
