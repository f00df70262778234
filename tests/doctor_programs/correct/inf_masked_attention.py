# expect: nothing
# -inf in attention masks is by design.

import clew as torch
from clew import nn

torch.manual_seed(0)
emb = nn.Embedding(15, 12, padding_idx=0)
q, k, v, o = (nn.Linear(12, 12) for _ in range(4))
head = nn.Linear(12, 2)
mods = nn.ModuleList([emb, q, k, v, o, head])
opt = torch.optim.Adam(mods.parameters(), lr=2e-3)
for i in range(20):
    lengths = torch.randint(2, 9, (10,))
    tok = torch.randint(1, 15, (10, 8))
    pad = torch.arange(8)[None] >= lengths[:, None]
    tok = tok.masked_fill(pad, 0)
    h = emb(tok)
    s = q(h) @ k(h).transpose(1, 2) / 12**0.5
    s = s.masked_fill(pad[:, None], float("-inf"))
    h = h + o(s.softmax(-1) @ v(h))
    pooled = (h * (~pad)[..., None]).sum(1) / lengths[:, None]
    loss = nn.functional.cross_entropy(head(pooled), (tok.sum(1) > 40).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
