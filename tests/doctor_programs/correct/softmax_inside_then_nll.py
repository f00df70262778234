# expect: nothing
# Probabilities are mixed, and the log is taken afterwards (mixture of softmaxes).

import torch
from torch import nn


class Mos(nn.Module):
    def __init__(self, d=8, k=3, c=5):
        super().__init__()
        self.prior = nn.Linear(d, k)
        self.out = nn.Linear(d, k * c)
        self.k, self.c = k, c

    def forward(self, x):
        pi = self.prior(x).softmax(-1)
        p = self.out(x).view(-1, self.k, self.c).softmax(-1)
        return ((pi.unsqueeze(-1) * p).sum(1) + 1e-8).log()


torch.manual_seed(0)
net = Mos()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for i in range(30):
    x = torch.randn(32, 8)
    loss = nn.functional.nll_loss(net(x), x[:, :5].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
