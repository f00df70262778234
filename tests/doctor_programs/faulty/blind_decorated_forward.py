# expect: detached-graph line 15, 16, 17
# A helper that embeds the context is decorated with no_grad, but its layer is to be trained.

import clew as torch
from clew import nn


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(20, 12)
        self.ctx = nn.Linear(12, 12)
        self.out = nn.Linear(24, 20)

    @torch.no_grad()
    def context(self, t):
        return torch.tanh(self.ctx(self.emb(t)).mean(1, keepdim=True))

    def forward(self, t):
        e = self.emb(t)
        return self.out(torch.cat([e, self.context(t).expand_as(e)], -1))


torch.manual_seed(0)
net = Reader()
opt = torch.optim.Adam(net.parameters(), 1e-2)
for _ in range(15):
    t = torch.randint(0, 20, (8, 6))
    loss = nn.functional.cross_entropy(net(t).flatten(0, 1), t.roll(-1, 1).flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
