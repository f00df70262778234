# expect: nothing

import random
import clew as torch
import clew.nn as nn

torch.manual_seed(0)
random.seed(0)
V, H = 10, 24


class S2S(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(V, H)
        self.enc = nn.GRU(H, H, batch_first=True)
        self.dec = nn.GRUCell(H, H)
        self.o = nn.Linear(H, V)

    def forward(self, src, tgt, tf=0.5):
        _, h = self.enc(self.e(src))
        h = h[0]
        inp = torch.zeros(src.size(0), dtype=torch.long)
        outs = []
        for t in range(tgt.size(1)):
            h = self.dec(self.e(inp), h)
            l = self.o(h)
            outs.append(l)
            inp = tgt[:, t] if random.random() < tf else l.argmax(1)
        return torch.stack(outs, 1)


m = S2S()
opt = torch.optim.Adam(m.parameters(), lr=5e-3)
for i in range(15):
    src = torch.randint(1, V, (16, 5))
    tgt = src.flip(1)
    out = m(src, tgt)
    loss = nn.functional.cross_entropy(out.view(-1, V), tgt.reshape(-1))
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(m.parameters(), 1)
    opt.step()
print(loss.item())
