# expect: nothing
# A decoder with its own predictions (argmax, no gradient) mixed in.

import random

import torch
from torch import nn


class Seq2Seq(nn.Module):
    def __init__(self, v=12, h=20):
        super().__init__()
        self.src, self.tgt = nn.Embedding(v, h), nn.Embedding(v, h)
        self.enc, self.dec = nn.GRU(h, h, batch_first=True), nn.GRUCell(h, h)
        self.out = nn.Linear(h, v)

    def forward(self, s, t, ratio):
        h = self.enc(self.src(s))[1][-1]
        tok, outs = torch.zeros(len(s), dtype=torch.long), []
        for i in range(t.shape[1]):
            h = self.dec(self.tgt(tok), h)
            logits = self.out(h)
            outs.append(logits)
            tok = t[:, i] if random.random() < ratio else logits.argmax(1)
        return torch.stack(outs, 1)


torch.manual_seed(0)
random.seed(0)
net = Seq2Seq()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for i in range(15):
    s = torch.randint(1, 12, (16, 5))
    logits = net(s, s.flip(1), 0.6)
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), s.flip(1).flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
