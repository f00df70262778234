# expect: loss-activation-mismatch line 16, 26

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(8, 32)
        self.fc2 = nn.Linear(32, 4)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        return F.softmax(self.fc2(x), dim=1)


torch.manual_seed(0)
net = Net()
crit = nn.CrossEntropyLoss()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(30):
    x = torch.randn(32, 8)
    y = x[:, :4].argmax(1)
    loss = crit(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
