# expect: nothing
# EWC: Fisher information from squared gradients, then training with the penalty.

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.SGD(net.parameters(), 0.05)


def task(k):
    x = torch.randn(64, 5)
    return x, (x[:, k] > 0).long()


A, B = task(0), task(1)
for _ in range(25):
    opt.zero_grad()
    nn.functional.cross_entropy(net(A[0]), A[1]).backward()
    opt.step()
fisher = {n: torch.zeros_like(p) for n, p in net.named_parameters()}
star = {n: p.detach().clone() for n, p in net.named_parameters()}
for i in range(16):
    net.zero_grad()
    nn.functional.cross_entropy(net(A[0][i : i + 1]), A[1][i : i + 1]).backward()
    for n, p in net.named_parameters():
        fisher[n] += p.grad.detach() ** 2 / 16
for _ in range(25):
    opt.zero_grad()
    pen = sum((fisher[n] * (p - star[n]) ** 2).sum() for n, p in net.named_parameters())
    (nn.functional.cross_entropy(net(B[0]), B[1]) + 10 * pen).backward()
    opt.step()
