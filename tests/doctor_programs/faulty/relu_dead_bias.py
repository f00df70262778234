# expect: dead-relu line 16, 20

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(64, 8)
y = x[:, :1] * 2 - x[:, 1:2]


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(8, 32)
        nn.init.constant_(self.fc1.bias, -20.0)
        self.fc2 = nn.Linear(32, 1)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


m = M()
opt = torch.optim.SGD(m.parameters(), lr=0.01)
for i in range(30):
    opt.zero_grad()
    F.mse_loss(m(x), y).backward()
    opt.step()
