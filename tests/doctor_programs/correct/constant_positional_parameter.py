# expect: nothing
# Sinusoidal positions are a Parameter that does not require grad.

import math

import torch
import torch.nn.functional as F
from torch import nn


class Encoder(nn.Module):
    def __init__(self, vocab=11, dim=16, length=8):
        super().__init__()
        position = torch.arange(length).unsqueeze(1)
        div = torch.exp(torch.arange(0, dim, 2) * (-math.log(10000.0) / dim))
        table = torch.zeros(length, dim)
        table[:, 0::2], table[:, 1::2] = torch.sin(position * div), torch.cos(position * div)
        self.positions = nn.Parameter(table, requires_grad=False)
        self.embed = nn.Embedding(vocab, dim)
        self.layer = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, tokens):
        h = self.embed(tokens) + self.positions[: tokens.size(1)]
        return self.out(self.layer(h))


torch.manual_seed(278)
model = Encoder()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
losses = []
for _ in range(60):
    tokens = torch.randint(0, 11, (16, 8))
    logits = model(tokens)
    loss = F.cross_entropy(logits.transpose(1, 2), (tokens + torch.arange(8)).remainder(11))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
