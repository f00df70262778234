# expect: nothing

import clew as torch
import clew.nn as nn
import clew.nn.functional as F


class Res(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c1 = nn.Conv2d(c, c, 3, padding=1, bias=False)
        self.b1 = nn.BatchNorm2d(c)
        self.c2 = nn.Conv2d(c, c, 3, padding=1, bias=False)
        self.b2 = nn.BatchNorm2d(c)
        nn.init.zeros_(self.b2.weight)

    def forward(self, x):
        return F.relu(x + self.b2(self.c2(F.relu(self.b1(self.c1(x))))), inplace=True)


torch.manual_seed(0)
net = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1),
    Res(8),
    nn.MaxPool2d(2),
    Res(8),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(8, 3),
)
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, nesterov=True)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.1, total_steps=20)
for i in range(20):
    y = torch.randint(0, 3, (16,))
    x = torch.randn(16, 1, 8, 8) + y.view(-1, 1, 1, 1)
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
net.eval()
with torch.inference_mode():
    y = torch.randint(0, 3, (30,))
    print(
        (net(torch.randn(30, 1, 8, 8) + y.view(-1, 1, 1, 1)).argmax(1) == y).float().mean().item()
    )
