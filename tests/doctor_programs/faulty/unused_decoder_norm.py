# expect: param-unused line 13, 18
# A final norm is built and never called.

import torch
from torch import nn


class Dec(nn.Module):
    def __init__(self, d=12):
        super().__init__()
        self.emb = nn.Embedding(20, d)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.norm = nn.LayerNorm(d)
        self.out = nn.Linear(d, 20)

    def forward(self, t):
        h, _ = self.rnn(self.emb(t))
        return self.out(h)


torch.manual_seed(0)
dec = Dec()
opt = torch.optim.Adam(dec.parameters(), lr=2e-3)
for i in range(15):
    t = torch.randint(0, 20, (8, 7))
    loss = nn.functional.cross_entropy(dec(t[:, :-1]).flatten(0, 1), t[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
