# expect: batch-mixing line 16

import clew as torch
import clew.nn as nn
import clew.nn.functional as F


class Clf(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(9, 32)
        self.b = nn.Linear(32, 4)

    def forward(self, x):
        h = F.relu(self.a(x))
        return F.log_softmax(self.b(h), dim=0)


torch.manual_seed(0)
net = Clf()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for ep in range(60):
    x = torch.randn(32, 9)
    y = x[:, :4].argmax(1)
    loss = F.nll_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if ep % 20 == 0:
        print(ep, loss.item())
