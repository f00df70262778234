# expect: bad-init line 19
# Embedding and hidden layer are filled with ones: all units stay copies of each other.

import torch
import torch.nn.functional as F
from torch import nn


class Text(nn.Module):
    def __init__(self, vocab=15, dim=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.hidden = nn.Linear(dim, 16)
        self.out = nn.Linear(16, 2)
        self.init_weights()

    def init_weights(self):
        for p in self.parameters():
            nn.init.ones_(p) if p.dim() > 1 else nn.init.zeros_(p)

    def forward(self, tokens):
        return self.out(torch.tanh(self.hidden(self.embed(tokens).mean(dim=1))))


torch.manual_seed(332)
tokens = torch.randint(0, 15, (80, 5))
labels = (tokens[:, 0] > 7).long()
model = Text()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(12):
    loss = F.cross_entropy(model(tokens), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 4 == 0:
        print(epoch, loss.item())
