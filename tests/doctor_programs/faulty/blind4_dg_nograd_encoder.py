# expect: detached-graph line 7, 15, 16, 17

import clew as torch
from clew import nn


class Seq2Seq(nn.Module):
    def __init__(self, vocab=12, d=24):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.enc = nn.GRU(d, d, batch_first=True)
        self.dec = nn.GRU(d, d, batch_first=True)
        self.out = nn.Linear(d, vocab)

    @torch.no_grad()
    def encode(self, src):
        _, h = self.enc(self.emb(src))
        return h

    def forward(self, src, tgt_in):
        h = self.encode(src)
        o, _ = self.dec(self.emb(tgt_in), h)
        return self.out(o)


torch.manual_seed(0)
m = Seq2Seq()
opt = torch.optim.Adam(m.parameters(), lr=3e-3)
for it in range(40):
    src = torch.randint(1, 12, (16, 6))
    tgt = src.flip(1)
    tgt_in = torch.cat([torch.zeros(16, 1, dtype=torch.long), tgt[:, :-1]], 1)
    logits = m(src, tgt_in)
    loss = nn.functional.cross_entropy(logits.reshape(-1, 12), tgt.reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 10 == 0:
        print(it, loss.item())
