# expect: backward-twice line 11, 18
# The normalised weight matrix is computed once, before the loop.

import torch
from torch import nn

torch.manual_seed(0)
weight = nn.Parameter(torch.randn(5, 8))
bias = nn.Parameter(torch.zeros(5))
opt = torch.optim.SGD([weight, bias], lr=0.1)
unit = weight / weight.norm(dim=1, keepdim=True)
for epoch in range(3):
    for _ in range(4):
        x = torch.randn(12, 8)
        logits = x @ unit.t() + bias
        loss = nn.functional.cross_entropy(logits, x[:, :5].argmax(1))
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
