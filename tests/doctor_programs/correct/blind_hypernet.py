# expect: nothing
# A hypernetwork makes the weights of a small net; the target net has no parameters.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
hyper = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 3 * 8 + 8 + 8 + 1))
opt = torch.optim.Adam(hyper.parameters(), 2e-3)
for _ in range(25):
    task = torch.randn(2)
    w = hyper(task)
    W1, b1, W2, b2 = w[:24].view(8, 3), w[24:32], w[32:40].view(1, 8), w[40:]
    x = torch.randn(20, 3)
    y = (task[0] * x[:, 0] + task[1] * x[:, 1])[:, None]
    l = F.mse_loss(F.linear(torch.tanh(F.linear(x, W1, b1)), W2, b2), y)
    opt.zero_grad()
    l.backward()
    opt.step()
