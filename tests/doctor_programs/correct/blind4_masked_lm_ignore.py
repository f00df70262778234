# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
V, L = 20, 10
emb, pos = nn.Embedding(V + 1, 32), nn.Parameter(torch.randn(L, 32) * 0.02)
enc = nn.TransformerEncoder(
    nn.TransformerEncoderLayer(32, 2, 64, dropout=0.0, batch_first=True, activation="gelu"), 1
)
out = nn.Linear(32, V)
params = [*emb.parameters(), pos, *enc.parameters(), *out.parameters()]
opt = torch.optim.AdamW(params, lr=2e-3)
for it in range(60):
    st = torch.randint(0, V, (16, 1))
    x = (st + torch.arange(L)) % V
    m = torch.rand(x.shape) < 0.2
    m[:, 0] = True
    inp = x.masked_fill(m, V)
    tgt = x.masked_fill(~m, -100)
    loss = nn.functional.cross_entropy(
        out(enc(emb(inp) + pos)).view(-1, V), tgt.view(-1), ignore_index=-100
    )
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(params, 1.0)
    opt.step()
    if it % 20 == 0:
        print(it, loss.item())
