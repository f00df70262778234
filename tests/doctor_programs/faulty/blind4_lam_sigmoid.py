# expect: loss-activation-mismatch line 15, 25

import clew as torch
import clew.nn as nn
import clew.nn.functional as F


class SegNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 8, 3, padding=1)
        self.c2 = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        return torch.sigmoid(self.c2(F.relu(self.c1(x))))


torch.manual_seed(0)
net = SegNet()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for i in range(40):
    img = torch.rand(8, 1, 10, 10)
    mask = (F.avg_pool2d(img, 3, 1, 1) > 0.5).float()
    pred = net(img)
    loss = F.binary_cross_entropy_with_logits(pred, mask)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 10 == 0:
        print(i, loss.item())
