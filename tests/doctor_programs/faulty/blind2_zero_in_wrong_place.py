# expect: zero-grad-before-step line 24

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.fc = nn.Linear(8 * 4 * 4, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        return self.fc(x.flatten(1))


def train_step(model, optimizer, x, y):
    out = model(x)
    loss = F.cross_entropy(out, y)
    loss.backward()
    for p in model.parameters():
        p.grad = None
    optimizer.step()
    return loss.item()


torch.manual_seed(0)
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(3):
    for _ in range(6):
        x = torch.randn(16, 1, 8, 8)
        y = torch.randint(0, 4, (16,))
        l = train_step(model, optimizer, x, y)
    print(epoch, l)
