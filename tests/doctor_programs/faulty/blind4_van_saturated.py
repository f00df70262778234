# expect: vanishing-gradient line 18, 23

import torch
import torch.nn as nn

torch.manual_seed(0)
# house price style features, never normalised
area = torch.rand(300, 1) * 2000 + 500
rooms = torch.randint(1, 6, (300, 1)).float()
year = torch.randint(1950, 2020, (300, 1)).float()
X = torch.cat([area, rooms, year], 1)
y = (area > 1500).float()


class Clf(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(3, 16)
        self.fc2 = nn.Linear(16, 16)
        self.fc3 = nn.Linear(16, 1)

    def forward(self, x):
        x = torch.sigmoid(self.fc1(x))
        x = torch.tanh(self.fc2(x))
        return self.fc3(x)


net = Clf()
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for ep in range(60):
    for i in torch.randperm(300).split(50):
        loss = nn.functional.binary_cross_entropy_with_logits(net(X[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
print(loss.item())
