# expect: nothing

# skip-gram with negative sampling: target word vectors are trained too.
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
V, d = 40, 8
emb_in, emb_out = nn.Embedding(V, d), nn.Embedding(V, d)
opt = torch.optim.Adam([*emb_in.parameters(), *emb_out.parameters()], lr=1e-2)
for i in range(40):
    c = torch.randint(0, V, (64,))
    pos = (c + 1) % V
    neg = torch.randint(0, V, (64, 4))
    center = emb_in(c)
    target = emb_out(pos)
    noise = emb_out(neg)
    loss = -(
        F.logsigmoid((center * target).sum(1))
        + F.logsigmoid(-(noise @ center.unsqueeze(2)).squeeze(2)).sum(1)
    ).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
