# expect: retain-graph-misuse line 24
# retain_graph=True is passed on a plain single backward.

import torch
from torch import nn

torch.manual_seed(10)
seq2seq = nn.ModuleDict(
    {
        "enc": nn.LSTM(4, 8, batch_first=True),
        "dec": nn.LSTM(4, 8, batch_first=True),
        "out": nn.Linear(8, 4),
    }
)
optimizer = torch.optim.Adam(seq2seq.parameters(), lr=2e-3)
src = torch.randn(12, 6, 4)
dst = src.flip(1)
for epoch in range(10):
    optimizer.zero_grad()
    _, state = seq2seq["enc"](src)
    shifted = torch.cat([torch.zeros(12, 1, 4), dst[:, :-1]], dim=1)
    hidden, _ = seq2seq["dec"](shifted, state)
    loss = nn.functional.l1_loss(seq2seq["out"](hidden), dst)
    loss.backward(retain_graph=True)
    optimizer.step()
print(loss.item())
