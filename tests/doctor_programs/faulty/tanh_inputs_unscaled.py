# expect: vanishing-gradient line 14
# Raw inputs of a few hundred saturate the first tanh layer.

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(5, 32), nn.Linear(32, 32), nn.Linear(32, 1)

    def forward(self, x):
        h = torch.tanh(self.a(x))
        return self.c(torch.tanh(self.b(h)))


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(30):
    x = torch.rand(32, 5) * 800 - 200
    loss = nn.functional.mse_loss(net(x), (x[:, :1] - 200) / 400)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
