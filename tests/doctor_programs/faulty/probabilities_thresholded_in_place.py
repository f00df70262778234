# expect: inplace-saved-tensor line 13
# Softmax output is changed in place before the loss uses it.

import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Linear(6, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.1)


def sharpen(p, floor=0.05):
    p.clamp_(min=floor)
    return p / p.sum(1, keepdim=True)


for i in range(5):
    x = torch.randn(8, 6)
    probs = torch.softmax(net(x), dim=1)
    probs = sharpen(probs)
    loss = -(probs.log() * torch.full((8, 4), 0.25)).sum(1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
