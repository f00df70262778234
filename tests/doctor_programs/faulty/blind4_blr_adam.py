# expect: bad-learning-rate line 26

import clew as torch
import clew.nn as nn


def make_batch(n):
    t = torch.randint(0, 12, (n, 8))
    return t, t.sum(1) % 2


class LSTMClf(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(12, 16)
        self.l = nn.LSTM(16, 24, batch_first=True)
        self.o = nn.Linear(24, 2)

    def forward(self, t):
        out, _ = self.l(self.e(t))
        return self.o(out[:, -1])


torch.manual_seed(0)
net = LSTMClf()
opt = torch.optim.Adam(net.parameters(), lr=3.0)
for it in range(60):
    t, y = make_batch(32)
    loss = nn.functional.cross_entropy(net(t), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 10 == 0:
        print(it, loss.item())
