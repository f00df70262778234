# expect: nothing
# The decoder is fed its own argmax half of the time: a decision, not a path for gradients.

import random

import torch
import torch.nn.functional as F
from torch import nn


class Seq2Seq(nn.Module):
    def __init__(self, vocab=9, hidden=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, 16)
        self.encoder = nn.GRU(16, hidden, batch_first=True)
        self.cell = nn.GRUCell(16, hidden)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, source, target, teacher_forcing):
        _, h = self.encoder(self.embed(source))
        h, token, logits = h[0], torch.zeros_like(source[:, 0]), []
        for t in range(target.size(1)):
            h = self.cell(self.embed(token), h)
            step = self.out(h)
            logits.append(step)
            token = target[:, t] if random.random() < teacher_forcing else step.argmax(dim=1)
        return torch.stack(logits, dim=1)


random.seed(407)
torch.manual_seed(407)
model = Seq2Seq()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
losses = []
for _ in range(60):
    source = torch.randint(1, 9, (32, 4))
    logits = model(source, source, teacher_forcing=0.5)
    loss = F.cross_entropy(logits.reshape(-1, 9), source.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
