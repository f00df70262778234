# expect: accumulation-not-averaged line 31, 32, 35
# Micro-batches with clipping and a scheduler; the division is forgotten.

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
ACCUM = 6


class Tagger(nn.Module):
    def __init__(self, vocab=40, tags=5):
        super().__init__()
        self.emb = nn.Embedding(vocab, 16)
        self.lstm = nn.LSTM(16, 16, batch_first=True, bidirectional=True)
        self.out = nn.Linear(32, tags)

    def forward(self, tok):
        return self.out(self.lstm(self.emb(tok))[0])


tagger = Tagger()
opt = torch.optim.Adam(tagger.parameters(), lr=1e-3)
sched = torch.optim.lr_scheduler.StepLR(opt, step_size=20, gamma=0.9)
opt.zero_grad(set_to_none=True)
for i in range(48):
    tok = torch.randint(0, 40, (4, 9))
    tags = tok % 5
    logits = tagger(tok)
    loss = F.cross_entropy(logits.reshape(-1, 5), tags.reshape(-1))
    loss.backward()
    if i % ACCUM == ACCUM - 1:
        torch.nn.utils.clip_grad_norm_(tagger.parameters(), 1.0)
        opt.step()
        sched.step()
        opt.zero_grad(set_to_none=True)
        print(i, loss.item())
