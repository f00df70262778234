# expect: nan-origin line 20

import torch
import torch.nn as nn

torch.manual_seed(0)
emb = nn.Embedding(12, 8, padding_idx=0)
sc = nn.Linear(8, 1)
fc = nn.Linear(8, 2)
opt = torch.optim.Adam([*emb.parameters(), *sc.parameters(), *fc.parameters()], lr=1e-2)
for i in range(10):
    t = torch.randint(1, 12, (16, 6))
    lens = torch.randint(0 if i > 3 else 1, 7, (16,))
    if i > 3:
        lens[0] = 0
    mask = torch.arange(6)[None] >= lens[:, None]
    t = t.masked_fill(mask, 0)
    e = emb(t)
    s = sc(e).squeeze(-1).masked_fill(mask, float("-inf"))
    w = torch.softmax(s, dim=1)
    loss = nn.functional.cross_entropy(fc((w[..., None] * e).sum(1)), (t[:, 0] > 5).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item())
