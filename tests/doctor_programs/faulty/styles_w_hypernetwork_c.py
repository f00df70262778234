# expect: bad-learning-rate line 54
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(12)


class HyperLinear(nn.Module):
    """A linear layer whose weights come from an embedding of the task."""

    def __init__(self, z, i, o):
        super().__init__()
        self.i, self.o = i, o
        self.gen_w = nn.Linear(z, i * o)
        self.gen_b = nn.Linear(z, o)
        nn.init.normal_(self.gen_w.weight, std=0.05)

    def forward(self, x, z):
        w = self.gen_w(z).view(self.o, self.i)
        return F.linear(x, w, self.gen_b(z))


class HyperNet(nn.Module):
    def __init__(self, tasks=4, z=6):
        super().__init__()
        self.codes = nn.Embedding(tasks, z)
        self.l1 = HyperLinear(z, 3, 16)
        self.l2 = HyperLinear(z, 16, 1)

    def forward(self, x, task):
        z = self.codes(torch.tensor(task))
        return self.l2(torch.tanh(self.l1(x, z)), z)


def data(task, n=32):
    x = torch.randn(n, 3)
    return x, ((task + 1) * x[:, :1] - x[:, 1:2] * x[:, 2:]) * 0.5


def epoch(net, opt):
    losses = []
    for task in range(4):
        x, y = data(task)
        opt.zero_grad()
        loss = F.smooth_l1_loss(net(x, task), y)
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return sum(losses) / 4


net = HyperNet()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-9)
for e in range(12):
    print(e, f"{epoch(net, optimizer):.4f}")
