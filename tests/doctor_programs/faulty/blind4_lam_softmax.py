# expect: loss-activation-mismatch line 15, 27

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(12, 32)
        self.fc2 = nn.Linear(32, 5)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        return torch.softmax(self.fc2(x), dim=1)


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
X = torch.randn(300, 12)
y = X[:, :5].argmax(1)
for ep in range(10):
    for i in torch.randperm(300).split(30):
        opt.zero_grad()
        loss = criterion(net(X[i]), y[i])
        loss.backward()
        opt.step()
    print(ep, loss.item())
