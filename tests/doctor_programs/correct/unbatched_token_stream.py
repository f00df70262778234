# expect: nothing
# A character model fed one unbatched sequence: the first axis is time everywhere.

import torch
import torch.nn.functional as F
from torch import nn


class CharModel(nn.Module):
    def __init__(self, vocab=10, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, 24)
        self.out = nn.Linear(24, vocab)

    def forward(self, text):
        h, _ = self.lstm(self.embed(text))
        return self.out(h)


torch.manual_seed(702)
text = (torch.arange(200) * 3).remainder(10)
model = CharModel()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
losses = []
for _ in range(40):
    start = int(torch.randint(0, 170, ()))
    piece = text[start : start + 21]
    loss = F.cross_entropy(model(piece[:-1]), piece[1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
