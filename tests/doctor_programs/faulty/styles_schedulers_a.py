# expect: scheduler-misuse line 12, 21
import torch
import torch.nn as nn
from torch.optim.lr_scheduler import LambdaLR, ReduceLROnPlateau, CosineAnnealingLR, SequentialLR, LinearLR

torch.manual_seed(25)


class Plan:
    def __init__(self, opt, base, total):
        self.warm = LambdaLR(opt, lambda s: min(1.0, (s + 1) / 10))
        self.plateau = ReduceLROnPlateau(opt, mode="max", factor=0.5, patience=2)
        self.s = 0

    def batch(self):
        self.s += 1
        if self.s <= 20:
            self.warm.step()

    def epoch(self, value):
        self.plateau.step(value)


x = torch.randn(160, 6)
y = x[:, :2].prod(1, keepdim=True) + x[:, 2:3]
net = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 1))
base = 2e-2
opt = torch.optim.SGD(net.parameters(), lr=base, momentum=0.8)
plan = Plan(opt, base, 100)
for epoch in range(15):
    seen = 0.0
    for i in torch.randperm(160).split(32):
        loss = nn.functional.mse_loss(net(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
        plan.batch()
        seen += loss.item() / 5
    plan.epoch(seen)
print(seen)
