# expect: nothing
# One unbatched sequence at a time: dim 0 is time, softmax and cumsum along it are right.

import torch
from torch import nn


class Reader(nn.Module):
    def __init__(self, n_in=3, hidden=16):
        super().__init__()
        self.rnn = nn.GRU(n_in + 1, hidden)
        self.score, self.out = nn.Linear(hidden, 1), nn.Linear(hidden, 1)

    def forward(self, x):
        running = torch.cumsum(x[:, :1], dim=0) / torch.arange(1, len(x) + 1).unsqueeze(1)
        h, _ = self.rnn(torch.cat([x, running], dim=1))
        weights = torch.softmax(self.score(h), dim=0)
        return self.out((weights * h).sum(dim=0))


torch.manual_seed(523)
sequences = [torch.randn(int(n), 3) for n in torch.randint(4, 10, (24,))]
targets = [s[:, 0].mean().view(1) for s in sequences]
model = Reader()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
totals = []
for _ in range(6):
    total = 0.0
    for s, t in zip(sequences, targets):
        loss = nn.functional.mse_loss(model(s), t)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    totals.append(total)
print(totals[0], totals[-1])
