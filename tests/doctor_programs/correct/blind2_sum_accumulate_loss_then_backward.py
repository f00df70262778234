# expect: nothing

import torch
import torch.nn as nn

torch.manual_seed(0)
cell = nn.LSTMCell(2, 12)
lin = nn.Linear(12, 1)
opt = torch.optim.Adam([*cell.parameters(), *lin.parameters()], lr=1e-2)
for ep in range(12):
    h = c = torch.zeros(8, 12)
    loss = 0.0
    x = torch.randn(10, 8, 2)
    tot = x[:, :, 0].cumsum(0)
    for t in range(10):
        h, c = cell(x[t], (h, c))
        loss += nn.functional.mse_loss(lin(h)[:, 0], tot[t])
    loss /= 10
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
