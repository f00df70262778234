# expect: nothing

import torch
from torch import nn
import random


class S2S(nn.Module):
    def __init__(self, v=10, d=24):
        super().__init__()
        self.e = nn.Embedding(v, d)
        self.enc = nn.GRU(d, d, batch_first=True)
        self.dec = nn.GRUCell(d, d)
        self.o = nn.Linear(d, v)

    def forward(self, src, tgt, tf=0.5):
        _, h = self.enc(self.e(src))
        h = h[0]
        tok = torch.zeros(src.size(0), dtype=torch.long)
        outs = []
        for t in range(tgt.size(1)):
            h = self.dec(self.e(tok), h)
            lg = self.o(h)
            outs.append(lg)
            tok = tgt[:, t] if random.random() < tf else lg.argmax(1)
        return torch.stack(outs, 1)


torch.manual_seed(0)
random.seed(0)
m = S2S()
opt = torch.optim.Adam(m.parameters(), lr=5e-3)
for i in range(50):
    s = torch.randint(1, 10, (16, 5))
    t = s.flip(1)
    loss = nn.functional.cross_entropy(m(s, t).reshape(-1, 10), t.reshape(-1))
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(m.parameters(), 1.0)
    opt.step()
    if i % 10 == 0:
        print(i, loss.item())
