# expect: missing-zero-grad line 37, 38
# Left-over accumulation: gradients are cleared every 4th batch but applied on each batch.

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)


class TinyConv(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3, padding=1)
        self.conv2 = nn.Conv2d(6, 8, 3, padding=1)
        self.fc = nn.Linear(8 * 2 * 2, 3)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


images = torch.randn(96, 1, 8, 8)
labels = torch.randint(0, 3, (96,))
images[labels == 1, :, :4] += 1.0
images[labels == 2, :, :, :4] -= 1.0

net = TinyConv()
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.8)
accum = 4
opt.zero_grad()
for epoch in range(4):
    for i in range(0, 96, 12):
        xb, yb = images[i : i + 12], labels[i : i + 12]
        loss = F.cross_entropy(net(xb), yb)
        loss.backward()
        opt.step()
        if (i // 12 + 1) % accum == 0:
            opt.zero_grad()
    print("epoch", epoch, "last loss", float(loss))
