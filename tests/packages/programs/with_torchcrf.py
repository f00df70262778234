"""pytorch-crf: a conditional random field over an LSTM."""

import torch
from torchcrf import CRF

torch.manual_seed(0)
c = CRF(5, batch_first=True)
lstm = torch.nn.LSTM(3, 5, batch_first=True)
x = torch.randn(2, 7, 3)
tags = torch.randint(0, 5, (2, 7))
mask = torch.ones(2, 7, dtype=torch.bool)
mask[1, 5:] = False
opt = torch.optim.Adam([*c.parameters(), *lstm.parameters()], 1e-2)
for i in range(4):
    opt.zero_grad()
    loss = -c(lstm(x)[0], tags, mask=mask, reduction="token_mean")
    loss.backward()
    opt.step()
    print(f"{loss.item():.5f}")
print(c.decode(lstm(x)[0], mask), c)
