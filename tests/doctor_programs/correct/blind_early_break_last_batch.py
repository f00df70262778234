# expect: nothing
# A sweep over rates in fresh models; only the best one's numbers are kept, as floats and arrays.

import numpy as np
import torch
from torch import nn

x = torch.linspace(-1, 1, 64)[:, None]
y = x**3
table = {}
for lr in (1e-3, 1e-2, 5e-2):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = torch.optim.Adam(net.parameters(), lr)
    curve = np.zeros(40)
    for i in range(40):
        opt.zero_grad()
        l = nn.functional.mse_loss(net(x), y)
        l.backward()
        opt.step()
        curve[i] = l.detach().numpy()
        if l < 1e-3:
            break
    table[lr] = curve[: i + 1]
print(min(table, key=lambda k: table[k][-1]))
