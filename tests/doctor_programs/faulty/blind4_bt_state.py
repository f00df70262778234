# expect: backward-twice line 15, 18

import torch
from torch import nn

torch.manual_seed(0)
lstm = nn.LSTM(2, 16, batch_first=True)
fc = nn.Linear(16, 1)
opt = torch.optim.Adam([*lstm.parameters(), *fc.parameters()], lr=1e-3)
series = torch.sin(torch.arange(0, 600).float() / 5).view(1, -1, 1).repeat(4, 1, 2)
state = None
for t in range(0, 560, 20):
    x = series[:, t : t + 20]
    y = series[:, t + 1 : t + 21, :1]
    out, state = lstm(x, state)
    loss = ((fc(out) - y) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(t, loss.item())
