# expect: dead-relu line 11, 12, 16, 17, 25

import clew as torch
import clew.nn as nn
import clew.nn.functional as F


class Reg(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 24)
        self.fc2 = nn.Linear(24, 24)
        self.fc3 = nn.Linear(24, 1)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


torch.manual_seed(0)
X = torch.rand(128, 4)
y = 50 + 100 * X.sum(1, keepdim=True)
net = Reg()
opt = torch.optim.SGD(net.parameters(), lr=0.001)
for ep in range(150):
    loss = F.mse_loss(net(X), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if ep % 10 == 0:
        print(ep, loss.item())
