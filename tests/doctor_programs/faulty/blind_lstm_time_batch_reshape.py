# expect: batch-mixing line 16
# Heads are split by a view that mixes batch and time.

import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(5, 12)
        self.out = nn.Linear(12, 3)

    def forward(self, x):
        b, t, d = x.shape
        h, _ = self.rnn(x.view(t, b, d))
        return self.out(h[-1])


torch.manual_seed(0)
net = Tagger()
opt = torch.optim.Adam(net.parameters(), 3e-3)
for _ in range(12):
    x = torch.randn(16, 7, 5)
    loss = nn.functional.cross_entropy(net(x), x.sum(1)[:, :3].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
