# expect: wrong-reduction line 43
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(1717)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv1d(1, 12, 5, padding=2), nn.BatchNorm1d(12), nn.ReLU())
        self.stages = nn.ModuleList(nn.Sequential(nn.Conv1d(12, 12, 3, padding=1), nn.BatchNorm1d(12), nn.ReLU()) for _ in range(3))
        self.heads = nn.ModuleList(nn.Conv1d(12, 3, 1) for _ in range(3))

    def forward(self, x):
        h, outs = self.stem(x), []
        for stage, head in zip(self.stages, self.heads):
            h = h + stage(h)
            outs.append(head(h))
        return outs


def signals(n, T=30):
    y = torch.randint(0, 3, (n, T // 10)).repeat_interleave(10, 1)
    return (y.float() - 1)[:, None] + 0.6 * torch.randn(n, 1, T), y


def evaluate(net):
    net.eval()
    with torch.no_grad():
        x, y = signals(20)
        acc = (net(x)[-1].argmax(1) == y).float().mean().item()
    net.train()
    return acc


net = Net()
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
for step in range(24):
    x, y = signals(16)
    outs = net(x)
    losses = [F.cross_entropy(o, y, reduction="mean" if k else "sum") for k, o in enumerate(outs)]
    opt.zero_grad()
    total = sum(w * l for w, l in zip((0.25, 0.5, 1.0), losses))
    total.backward()
    opt.step()
    if step % 8 == 7:
        print(step, evaluate(net))
