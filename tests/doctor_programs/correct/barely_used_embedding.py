# expect: nothing
# A large embedding of which few rows are touched; a padding row stays zero.

import clew as torch
from clew import nn

torch.manual_seed(0)
emb = nn.Embedding(500, 8, padding_idx=0)
lin = nn.Linear(8, 2)
opt = torch.optim.Adagrad([*emb.parameters(), *lin.parameters()], lr=0.05)
for i in range(25):
    tok = torch.randint(0, 30, (16, 6))
    loss = nn.functional.cross_entropy(lin(emb(tok).mean(1)), (tok.float().mean(1) > 15).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
