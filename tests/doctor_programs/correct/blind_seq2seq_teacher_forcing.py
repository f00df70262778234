# expect: nothing
# Seq2seq with random teacher forcing; the argmax token is fed back on purpose.

import random
import torch
from torch import nn


class S2S(nn.Module):
    def __init__(self, V=9, D=16):
        super().__init__()
        self.emb = nn.Embedding(V, D)
        self.enc = nn.GRU(D, D, batch_first=True)
        self.dec = nn.GRUCell(D, D)
        self.out = nn.Linear(D, V)

    def forward(self, src, tgt, tf=0.5):
        _, h = self.enc(self.emb(src))
        h = h[0]
        tok = torch.zeros(len(src), dtype=torch.long)
        outs = []
        for t in range(tgt.size(1)):
            h = self.dec(self.emb(tok), h)
            o = self.out(h)
            outs.append(o)
            tok = tgt[:, t] if random.random() < tf else o.argmax(-1)
        return torch.stack(outs, 1)


random.seed(0)
torch.manual_seed(0)
net = S2S()
opt = torch.optim.Adam(net.parameters(), 3e-3)
crit = nn.CrossEntropyLoss(ignore_index=0)
for it in range(15):
    src = torch.randint(1, 9, (16, 5))
    loss = crit(net(src, src.flip(1)).reshape(-1, 9), src.flip(1).reshape(-1))
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
net.eval()
with torch.no_grad():
    print(net(src, src, tf=0).argmax(-1)[0])
