# expect: nothing
# A mixture density network: logsumexp of log-probabilities, no softmax loss.

import torch
from torch import nn


class MDN(nn.Module):
    def __init__(self, k=3):
        super().__init__()
        self.h = nn.Linear(1, 20)
        self.p, self.m, self.s = (nn.Linear(20, k) for _ in range(3))

    def forward(self, x):
        h = torch.tanh(self.h(x))
        return torch.log_softmax(self.p(h), -1), self.m(h), nn.functional.softplus(self.s(h)) + 1e-3


torch.manual_seed(0)
net = MDN()
opt = torch.optim.Adam(net.parameters(), 1e-2)
y = torch.rand(100, 1) * 4 - 2
x = y + 0.3 * torch.sin(4 * y)
for _ in range(30):
    lp, m, s = net(x)
    ll = torch.logsumexp(lp + torch.distributions.Normal(m, s).log_prob(y), -1)
    l = -ll.mean()
    opt.zero_grad()
    l.backward()
    opt.step()
