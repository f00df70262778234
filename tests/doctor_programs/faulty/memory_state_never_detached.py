# expect: retain-graph-misuse or inplace-saved-tensor line 24, 26
# A memory vector is carried between steps; retain_graph hides the error.

import torch
from torch import nn


class Memory(nn.Module):
    def __init__(self, d=6):
        super().__init__()
        self.cell = nn.GRUCell(3, d)
        self.out = nn.Linear(d, 1)

    def forward(self, x, h):
        h = self.cell(x, h)
        return self.out(h), h


torch.manual_seed(0)
net = Memory()
h = torch.zeros(4, 6)
for t in range(15):
    x = torch.randn(4, 3)
    y, h = net(x, h)
    loss = (y - x.sum(1, keepdim=True)).pow(2).mean()
    grads = torch.autograd.grad(loss, list(net.parameters()), retain_graph=True)
    for p, g in zip(net.parameters(), grads):
        p.data.sub_(1e-2 * g)
    print(t, loss.item())
