# expect: missing-requires-grad line 24, 25
# The soft prompt does not require grad, with the frozen model nothing is left to differentiate.

import torch
import torch.nn.functional as F
from torch import nn


class FrozenLM(nn.Module):
    def __init__(self, vocab=12, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.block = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True)
        self.head = nn.Linear(dim, 2)
        self.requires_grad_(False)

    def forward(self, prompt, tokens):
        h = torch.cat([prompt.expand(len(tokens), -1, -1), self.embed(tokens)], dim=1)
        return self.head(self.block(h)[:, 0])


torch.manual_seed(312)
lm = FrozenLM()
prompt = 0.02 * torch.randn(1, 4, 16)
optimizer = torch.optim.Adam([prompt], lr=1e-2)
tokens = torch.randint(0, 12, (48, 5))
labels = (tokens[:, 0] > 5).long()
for step in range(10):
    loss = F.cross_entropy(lm(prompt, tokens), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
