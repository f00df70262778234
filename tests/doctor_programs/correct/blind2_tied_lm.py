# expect: nothing

import clew as torch
import clew.nn as nn


class LM(nn.Module):
    def __init__(self, V=15, d=24):
        super().__init__()
        self.emb = nn.Embedding(V, d)
        self.rnn = nn.LSTM(d, d, batch_first=True)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(d, V)
        self.out.weight = self.emb.weight

    def forward(self, x, h=None):
        y, h = self.rnn(self.drop(self.emb(x)), h)
        return self.out(self.drop(y)), h


torch.manual_seed(0)
m = LM()
opt = torch.optim.Adam(m.parameters(), lr=3e-3)
data = (torch.arange(400) % 15).view(4, 100)
for ep in range(2):
    h = None
    for i in range(0, 90, 10):
        x, y = data[:, i : i + 10], data[:, i + 1 : i + 11]
        if h is not None:
            h = tuple(t.detach() for t in h)
        o, h = m(x, h)
        loss = nn.functional.cross_entropy(o.reshape(-1, 15), y.reshape(-1))
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(m.parameters(), 0.25)
        opt.step()
    print(loss.item())
