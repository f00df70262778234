# expect: nothing
# A language model whose output weight is the embedding's.

import torch
from torch import nn


class LM(nn.Module):
    def __init__(self, V=15, D=16):
        super().__init__()
        self.e = nn.Embedding(V, D)
        self.pos = nn.Parameter(torch.zeros(1, 8, D))
        self.blk = nn.TransformerEncoderLayer(D, 2, 32, 0.1, batch_first=True, norm_first=True)
        self.o = nn.Linear(D, V, bias=False)
        self.o.weight = self.e.weight
        self.register_buffer("mask", torch.triu(torch.full((8, 8), float("-inf")), 1))

    def forward(self, t):
        return self.o(self.blk(self.e(t) + self.pos, src_mask=self.mask))


torch.manual_seed(0)
m = LM()
decay = [p for p in m.parameters() if p.dim() > 1]
rest = [p for p in m.parameters() if p.dim() <= 1]
o = torch.optim.AdamW(
    [{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}], lr=1e-3
)
t = torch.arange(9).repeat(8, 1) + torch.arange(8)[:, None]
t = t % 15
for _ in range(12):
    l = nn.functional.cross_entropy(m(t[:, :-1]).flatten(0, 1), t[:, 1:].flatten())
    o.zero_grad()
    l.backward()
    nn.utils.clip_grad_norm_(m.parameters(), 1.0)
    o.step()
print(l.item())
