# expect: loss-activation-mismatch line 16
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(240, 5)
y = torch.randint(0, 4, (240,))
weight = nn.Parameter(torch.randn(5, 4) * 0.1)
bias = nn.Parameter(torch.zeros(4))
optimizer = torch.optim.SGD([weight, bias], lr=0.05)
for step in range(40):
    rows = torch.randint(0, 240, (30,))
    scores = x[rows] @ weight + bias
    smooth = 0.9 * F.one_hot(y[rows], 4) + 0.025
    loss = (smooth * -scores).sum(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
