# expect: zero-grad-before-step line 27

import clew as torch
import clew.nn as nn


class SeqCls(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(20, 16)
        self.gru = nn.GRU(16, 24, batch_first=True)
        self.head = nn.Linear(24, 2)

    def forward(self, t):
        h, _ = self.gru(self.emb(t))
        return self.head(h[:, -1])


def train(model, data, labels, steps=50):
    opt = torch.optim.RMSprop(model.parameters(), lr=2e-3)
    ce = nn.CrossEntropyLoss()
    for s in range(steps):
        i = torch.randint(0, data.shape[0], (16,))
        loss = ce(model(data[i]), labels[i])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        model.zero_grad()
        opt.step()
        if s % 10 == 0:
            print(s, float(loss))


torch.manual_seed(0)
toks = torch.randint(0, 20, (200, 10))
lab = (toks[:, -1] > 9).long()
train(SeqCls(), toks, lab)
