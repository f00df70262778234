# expect: param-not-in-optimizer line 22, 23

import clew as torch
import clew.nn as nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2)
        )
        self.fc = nn.Linear(32, n)

    def forward(self, x):
        return self.fc(self.features(x).flatten(1))


net = Net(10)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
net.fc = nn.Linear(32, 3)
for i in range(20):
    x = torch.randn(16, 3, 8, 8)
    y = torch.randint(0, 3, (16,))
    x = x + y.view(-1, 1, 1, 1).float()
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
print("loss", loss.item())
