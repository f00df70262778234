# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class LM(nn.Module):
    def __init__(self, V=50, d=16):
        super().__init__()
        self.emb = nn.Embedding(V, d)
        self.rnn = nn.LSTM(d, d, batch_first=True)
        self.out = nn.Linear(d, V)
        self.out.weight = self.emb.weight

    def forward(self, t):
        h, _ = self.rnn(self.emb(t))
        return self.out(h)


m = LM()
opt = torch.optim.AdamW(m.parameters(), lr=1e-2)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 10))
for i in range(30):
    t = torch.randint(0, 20, (8, 12))
    loss = F.cross_entropy(m(t[:, :-1]).reshape(-1, 50), t[:, 1:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(m.parameters(), 1.0)
    opt.step()
    sched.step()
