# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
rnn = nn.RNN(3, 24)
fc = nn.Linear(24, 2)
opt = torch.optim.Adam(list(rnn.parameters()) + list(fc.parameters()), lr=3e-3)
for i in range(60):
    x = torch.randn(16, 10, 3)
    y = (x[..., 0] > 0).long()
    o, _ = rnn(x.transpose(0, 1))
    lg = fc(o.transpose(0, 1))
    loss = nn.functional.cross_entropy(lg.reshape(-1, 2), y.reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 20 == 0:
        print(i, loss.item())
