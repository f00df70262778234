# expect: nothing

import torch
from torch import nn


class LM(nn.Module):
    def __init__(self, v=12, d=32, L=16):
        super().__init__()
        self.tok, self.pos = nn.Embedding(v, d), nn.Embedding(L, d)
        enc = nn.TransformerEncoderLayer(d, 4, 64, dropout=0.1, batch_first=True)
        self.tf = nn.TransformerEncoder(enc, 2)
        self.head = nn.Linear(d, v, bias=False)
        self.head.weight = self.tok.weight

    def forward(self, t):
        n = t.shape[1]
        m = torch.triu(torch.full((n, n), float("-inf")), 1)
        return self.head(self.tf(self.tok(t) + self.pos(torch.arange(n)), mask=m))


torch.manual_seed(0)
lm = LM()
opt = torch.optim.AdamW(lm.parameters(), lr=3e-3)
lm.train()
for it in range(50):
    st = torch.randint(0, 12, (16, 1))
    seq = (st + torch.arange(13)) % 12
    out = lm(seq[:, :-1])
    loss = nn.functional.cross_entropy(out.reshape(-1, 12), seq[:, 1:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(lm.parameters(), 1.0)
    opt.step()
    if it % 10 == 0:
        print(it, loss.item())
