# expect: nan-origin line 16, 17
# A padded sample has every key masked with -inf, its softmax row is NaN.

import torch
import torch.nn.functional as F
from torch import nn


class MaskedPooling(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.score = nn.Linear(dim, 1)

    def forward(self, h, valid):
        scores = self.score(h).squeeze(-1)
        scores = scores.masked_fill(~valid, float("-inf"))
        weights = F.softmax(scores, dim=-1)
        return torch.einsum("bt,btd->bd", weights, h)


torch.manual_seed(96)
vocab, dim = 25, 12
embed = nn.Embedding(vocab, dim)
pool = MaskedPooling(dim)
head = nn.Linear(dim, 3)
params = [p for m in (embed, pool, head) for p in m.parameters()]
optimizer = torch.optim.AdamW(params, lr=5e-3)
tokens = torch.randint(1, vocab, (64, 6))
tokens[40, :] = 0
tokens[3, 4:] = 0
labels = tokens[:, 0].remainder(3)

for epoch in range(2):
    for xb, yb in zip(tokens.split(16), labels.split(16)):
        logits = head(pool(embed(xb), xb != 0))
        loss = F.cross_entropy(logits, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(epoch, loss.item())
