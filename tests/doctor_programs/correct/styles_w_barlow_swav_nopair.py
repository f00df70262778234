# expect: nothing
import torch
from torch import nn
import torch.nn.functional as F
import copy


def view(x):
    return x + 0.1 * torch.randn_like(x)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 16))
        self.proto = nn.Linear(16, 6, bias=False)

    def forward(self, x):
        z = F.normalize(self.f(x), dim=1)
        return self.proto(z)


@torch.no_grad()
def sinkhorn(scores, eps=0.05, n=3):
    q = torch.exp(scores / eps - scores.max() / eps).T
    q /= q.sum()
    for _ in range(n):
        q /= q.sum(1, keepdim=True) * q.shape[0]
        q /= q.sum(0, keepdim=True) * q.shape[1]
    return (q * q.shape[1]).T


def swapped(s1, s2, t=0.1):
    q1, q2 = sinkhorn(s1), sinkhorn(s2)
    p1, p2 = F.log_softmax(s1 / t, 1), F.log_softmax(s2 / t, 1)
    return -0.5 * ((q1 * p2).sum(1).mean() + (q2 * p1).sum(1).mean())


torch.manual_seed(64)
centers = torch.randn(6, 10) * 2
net = Encoder()
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for step in range(40):
    x = centers[torch.randint(0, 6, (48,))] + 0.3 * torch.randn(48, 10)
    loss = swapped(net(view(x)), net(view(x)))
    opt.zero_grad()
    loss.backward()
    if step < 5:
        net.proto.weight.grad = None
    opt.step()
    with torch.no_grad():
        net.proto.weight.copy_(F.normalize(net.proto.weight, dim=1))
print(loss.item())
