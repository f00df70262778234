# expect: clip-misplaced line 25
# clip_grad_value_ comes before scaler.unscale_, so everything is cut far too small.

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(6, 24)
        self.out = nn.Linear(24, 3)

    def forward(self, x):
        return self.out(F.gelu(self.inp(x)))


def optimise(net, optimizer, scaler, x, y, clip=0.5):
    with torch.autocast(device_type="cpu", dtype=torch.float16):
        logits = net(x)
        loss = F.cross_entropy(logits, y)
    optimizer.zero_grad(set_to_none=True)
    scaler.scale(loss).backward()
    nn.utils.clip_grad_value_(net.parameters(), clip)
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    return loss.item()


torch.manual_seed(21)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9)
scaler = torch.amp.GradScaler("cpu", init_scale=8192.0)
x = torch.randn(96, 6)
y = (x[:, :3] + 0.3 * x[:, 3:]).argmax(1)
for epoch in range(15):
    value = optimise(net, optimizer, scaler, x, y)
    if epoch % 5 == 0:
        print("epoch", epoch, value)
