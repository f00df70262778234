# expect: clip-misplaced line 19

import torch
from torch import nn

torch.manual_seed(0)
rnn = nn.LSTM(4, 16, batch_first=True)
head = nn.Linear(16, 1)
params = list(rnn.parameters()) + list(head.parameters())
opt = torch.optim.Adam(params, lr=3e-3)
for it in range(60):
    x = torch.randn(16, 15, 4)
    y = x.sum((1, 2)).unsqueeze(1) / 5
    opt.zero_grad()
    o, _ = rnn(x)
    loss = nn.functional.mse_loss(head(o[:, -1]), y)
    loss.backward()
    opt.step()
    torch.nn.utils.clip_grad_norm_(params, max_norm=1.0)
    if it % 20 == 0:
        print(it, loss.item())
