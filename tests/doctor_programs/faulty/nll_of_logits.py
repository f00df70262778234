# expect: loss-activation-mismatch line 16, 22
# nll_loss without log_softmax.

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
enc = nn.LSTM(5, 16, batch_first=True)
dec = nn.Linear(16, 6)
opt = torch.optim.Adam(list(enc.parameters()) + list(dec.parameters()), lr=1e-3)


def predict(x):
    _, (h, _) = enc(x)
    return dec(h[-1])


for i in range(20):
    x = torch.randn(16, 8, 5)
    y = x.sum(1).argmax(1)
    loss = F.nll_loss(predict(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
