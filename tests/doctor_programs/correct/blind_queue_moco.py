# expect: nothing
# MoCo: a queue of detached keys as a buffer, momentum encoder.

import torch
import torch.nn.functional as F
from torch import nn


class MoCo(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k = nn.Linear(8, 6), nn.Linear(8, 6)
        self.k.load_state_dict(self.q.state_dict())
        for p in self.k.parameters():
            p.requires_grad = False
        self.register_buffer("queue", F.normalize(torch.randn(64, 6), dim=1))
        self.ptr = 0

    def forward(self, a, b):
        q = F.normalize(self.q(a), dim=1)
        with torch.no_grad():
            for pq, pk in zip(self.q.parameters(), self.k.parameters()):
                pk.data = pk.data * 0.99 + pq.data * 0.01
            k = F.normalize(self.k(b), dim=1)
        logits = (
            torch.cat([(q * k).sum(1, keepdim=True), q @ self.queue.clone().detach().t()], 1) / 0.2
        )
        self.queue[self.ptr : self.ptr + len(k)] = k
        self.ptr = (self.ptr + len(k)) % 64
        return F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long))


torch.manual_seed(0)
m = MoCo()
opt = torch.optim.SGD(m.q.parameters(), 0.1, momentum=0.9)
for _ in range(20):
    x = torch.randn(16, 8)
    l = m(x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x))
    opt.zero_grad()
    l.backward()
    opt.step()
