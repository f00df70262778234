# expect: nothing

import torch
import torch.nn as nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten()
        )
        self.fc = nn.Linear(32, 10)

    def forward(self, x):
        return self.fc(self.backbone(x))


net = Net()
for p in net.parameters():
    p.requires_grad = False
net.fc = nn.Linear(32, 3)
opt = torch.optim.Adam(filter(lambda p: p.requires_grad, net.parameters()), lr=1e-2)
for i in range(20):
    y = torch.randint(0, 3, (16,))
    x = torch.randn(16, 3, 8, 8) + y.view(-1, 1, 1, 1)
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
