# expect: retain-graph-misuse line 14, 17
# A memory vector is carried over the steps and retain_graph=True hides it.

import torch
from torch import nn

torch.manual_seed(0)
write, read = nn.Linear(4, 8), nn.Linear(8, 1)
read.requires_grad_(False)
opt = torch.optim.SGD(write.parameters(), 0.01)
memory = torch.zeros(16, 8)
for t in range(15):
    x = torch.randn(16, 4)
    memory = 0.9 * memory + torch.tanh(write(x))
    loss = nn.functional.mse_loss(read(memory), x.sum(1, keepdim=True))
    opt.zero_grad()
    loss.backward(retain_graph=True)
    opt.step()
