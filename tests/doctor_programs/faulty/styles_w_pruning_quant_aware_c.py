# expect: dead-relu line 22, 30
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import parametrize

torch.manual_seed(1414)


class FakeQuant(nn.Module):
    def __init__(self, bits=4):
        super().__init__()
        self.levels = 2 ** (bits - 1) - 1

    def forward(self, w):
        s = w.detach().abs().max() / self.levels
        q = torch.round(w / s).clamp(-self.levels, self.levels) * s
        return w + (q - w).detach()


def build():
    net = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 3))
    for m in net:
        if isinstance(m, nn.Linear):
            parametrize.register_parametrization(m, "weight", FakeQuant())
    return net


net = build()
net[0].bias.data.sub_(50.0)
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
protos = torch.randn(3, 10)
for it in range(40):
    y = torch.randint(0, 3, (32,))
    x = protos[y] + 0.5 * torch.randn(32, 10)
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
