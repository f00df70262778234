# expect: nothing

import math
import torch
import torch.nn as nn

torch.manual_seed(0)
layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
enc = nn.TransformerEncoder(layer, 1)
emb = nn.Embedding(20, 16)
head = nn.Linear(16, 2)
params = [*enc.parameters(), *emb.parameters(), *head.parameters()]
opt = torch.optim.AdamW(params, lr=3e-3)
warm, total = 5, 30
sched = torch.optim.lr_scheduler.LambdaLR(
    opt, lambda s: min((s + 1) / warm, 0.5 * (1 + math.cos(math.pi * s / total)))
)
for s in range(total):
    t = torch.randint(0, 20, (32, 6))
    y = (t[:, 0] > 9).long()
    loss = nn.functional.cross_entropy(head(enc(emb(t)).mean(1)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
print(loss.item(), sched.get_last_lr())
