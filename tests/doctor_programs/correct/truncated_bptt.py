# expect: nothing
# The LSTM state is carried over windows and detached between them.

import torch
from torch import nn


class LM(nn.Module):
    def __init__(self, vocab=12, hidden=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, 12)
        self.lstm = nn.LSTM(12, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, tokens, state=None):
        h, state = self.lstm(self.embed(tokens), state)
        return self.out(h), state


def detach(state):
    return tuple(s.detach() for s in state)


torch.manual_seed(208)
stream = (torch.arange(4 * 121).view(4, 121) * 5).remainder(12)
model = LM()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
losses = []
for _ in range(3):
    state = None
    for i in range(0, 120, 10):
        x, y = stream[:, i : i + 10], stream[:, i + 1 : i + 11]
        if state is not None:
            state = detach(state)
        logits, state = model(x, state)
        loss = nn.functional.cross_entropy(logits.transpose(1, 2), y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
print("loss", losses[0], losses[-1])
