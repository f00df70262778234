# expect: exploding-gradient line 14
# Every residual block multiplies the stream instead of adding to it.

import clew as torch
from clew import nn


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.lin = nn.Linear(d, d)

    def forward(self, x):
        return x * 6.0 + torch.tanh(self.lin(x))


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 16), *[Block(16) for _ in range(12)], nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), lr=1e-4)
for i in range(15):
    x = torch.randn(16, 6)
    loss = nn.functional.mse_loss(net(x), x[:, :1])
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
