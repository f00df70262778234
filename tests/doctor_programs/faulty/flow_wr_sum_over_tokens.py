# expect: wrong-reduction line 9, 12

import torch
from torch import nn

torch.manual_seed(0)
emb, out = nn.Embedding(20, 16), nn.Linear(16, 20)
opt = torch.optim.SGD([*emb.parameters(), *out.parameters()], lr=0.5)
crit = nn.CrossEntropyLoss(reduction="sum")
for i in range(30):
    t = torch.randint(0, 20, (32, 16))
    loss = crit(out(emb(t[:, :-1])).flatten(0, 1), t[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
