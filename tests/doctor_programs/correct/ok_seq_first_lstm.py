# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
rnn = nn.LSTM(3, 16)
fc = nn.Linear(16, 2)
opt = torch.optim.Adam([*rnn.parameters(), *fc.parameters()], lr=0.01)
for i in range(20):
    x = torch.randn(7, 32, 3)
    y = (x[:, :, 0].sum(0) > 0).long()
    o, _ = rnn(x)
    opt.zero_grad()
    F.cross_entropy(fc(o[-1]), y).backward()
    opt.step()
