# expect: exploding-gradient line 11

import torch
from torch import nn

torch.manual_seed(0)
rnn = nn.RNN(4, 32, nonlinearity="relu", batch_first=True)
out = nn.Linear(32, 1)
for n, p in rnn.named_parameters():
    if "weight" in n:
        nn.init.normal_(p, std=0.5)
opt = torch.optim.SGD([*rnn.parameters(), *out.parameters()], lr=1e-4)
for i in range(20):
    x = torch.randn(8, 20, 4)
    h, _ = rnn(x)
    loss = (out(h[:, -1]) - x[:, :, 0].mean(1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
