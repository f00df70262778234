# expect: non-scalar-backward line 16, 18
# reduction="none" for masking, and the masked losses are never summed.

import torch
from torch import nn

torch.manual_seed(0)
emb = nn.Embedding(20, 8)
out = nn.Linear(8, 20)
opt = torch.optim.Adam([*emb.parameters(), *out.parameters()])
crit = nn.CrossEntropyLoss(reduction="none")
for i in range(3):
    tok = torch.randint(1, 20, (4, 7))
    mask = (tok > 2).float()
    logits = out(emb(tok))
    loss = crit(logits.reshape(-1, 20), tok.reshape(-1)).view(4, 7) * mask
    opt.zero_grad()
    loss.backward()
    opt.step()
