# expect: backward-twice line 16, 25, 28
# The LSTM state of the last window is fed into the next one without detaching it.

import torch
from torch import nn


class LanguageModel(nn.Module):
    def __init__(self, vocab=16, dim=12, hidden=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True)
        self.decode = nn.Linear(hidden, vocab)

    def forward(self, tokens, state):
        h, state = self.lstm(self.embed(tokens), state)
        return self.decode(h), state


def train_epoch(model, optimizer, stream, window=10):
    state, total, count = None, 0.0, 0
    for start in range(0, stream.size(1) - window - 1, window):
        x = stream[:, start : start + window]
        y = stream[:, start + 1 : start + window + 1]
        logits, state = model(x, state)
        loss = nn.functional.cross_entropy(logits.transpose(1, 2), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total, count = total + loss.item(), count + 1
    return total / count


torch.manual_seed(81)
stream = torch.arange(4 * 101).view(4, 101).remainder(16)
model = LanguageModel()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    print("epoch", epoch, train_epoch(model, optimizer, stream))
