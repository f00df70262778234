# expect: nothing

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence


class Clf(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(15, 12, padding_idx=0)
        self.l = nn.LSTM(12, 16, batch_first=True)
        self.o = nn.Linear(16, 2)

    def forward(self, t, n):
        p = pack_padded_sequence(self.e(t), n, batch_first=True, enforce_sorted=False)
        _, (h, _) = self.l(p)
        return self.o(h[-1])


torch.manual_seed(0)
m = Clf()
opt = torch.optim.Adam(m.parameters(), lr=5e-3)
for i in range(60):
    n = torch.randint(3, 9, (16,))
    seqs = [torch.randint(1, 15, (int(k),)) for k in n]
    y = torch.tensor([int(s[-1] > 7) for s in seqs])
    loss = nn.functional.cross_entropy(m(pad_sequence(seqs, batch_first=True), n), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 20 == 0:
        print(i, loss.item())
