# expect: nothing
# Sums over tokens, divided by the number of tokens, next to a mean.

import clew as torch
from clew import nn
import clew.nn.functional as F

torch.manual_seed(0)
emb, out = nn.Embedding(15, 8), nn.Linear(8, 15)
opt = torch.optim.Adam([*emb.parameters(), *out.parameters()], lr=3e-3)
for i in range(25):
    t = torch.randint(1, 15, (6, 9))
    mask = torch.arange(9)[None] < torch.randint(3, 10, (6, 1))
    logits = out(emb(t))
    tok = F.cross_entropy(logits.transpose(1, 2), (t + 1) % 15, reduction="none")
    loss = (tok * mask).sum() / mask.sum() + 0.01 * logits.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
