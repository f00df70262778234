# expect: loss-activation-mismatch line 17, 24
# NLLLoss on raw scores.

import torch
from torch import nn

torch.manual_seed(0)


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv1d(1, 4, 3)
        self.f = nn.Linear(4 * 10, 3)

    def forward(self, x):
        return self.f(torch.relu(self.c(x)).flatten(1))


net, crit = CNN(), nn.NLLLoss()
opt = torch.optim.Adam(net.parameters(), 1e-3)
for _ in range(15):
    x = torch.randn(16, 1, 12)
    loss = crit(net(x), x[:, 0, :3].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
