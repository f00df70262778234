# expect: missing-zero-grad line 13, 14, 15

import torch
from torch import nn

torch.manual_seed(0)
enc, dec = nn.Linear(8, 4), nn.Linear(4, 8)
oe, od = torch.optim.SGD(enc.parameters(), lr=0.05), torch.optim.SGD(dec.parameters(), lr=0.05)
for i in range(30):
    x = torch.randn(16, 8)
    loss = (dec(torch.tanh(enc(x))) - x).pow(2).mean()
    oe.zero_grad()
    loss.backward()
    oe.step()
    od.step()
