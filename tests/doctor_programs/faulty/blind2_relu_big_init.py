# expect: exploding-gradient or bad-init or bad-learning-rate line 15, 19

import clew as torch
import clew.nn as nn

torch.manual_seed(0)


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(32, 32) for _ in range(8)])
        self.head = nn.Linear(32, 1)
        for l in self.layers:
            nn.init.normal_(l.weight, std=1.0)

    def forward(self, x):
        for l in self.layers:
            x = torch.relu(l(x))
        return self.head(x)


net = MLP()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(20):
    x = torch.randn(64, 32)
    y = x[:, :1]
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 5 == 0:
        print(loss.item())
