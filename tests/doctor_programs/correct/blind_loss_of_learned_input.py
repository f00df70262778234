# expect: nothing
# Prompt/inversion: a fixed network and an input that is optimised, then a class prototype.

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(10, 20), nn.Tanh(), nn.Linear(20, 3)).eval()
for p in net.parameters():
    p.requires_grad_(False)
prompt = torch.zeros(1, 10, requires_grad=True)
opt = torch.optim.Adam([prompt], 0.1)
for i in range(40):
    opt.zero_grad()
    l = nn.functional.cross_entropy(net(prompt), torch.tensor([2])) + 0.01 * prompt.pow(2).sum()
    l.backward()
    opt.step()
print(net(prompt).softmax(-1))
