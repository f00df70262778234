# expect: vanishing-gradient line 13, 19
# A hand-written RNN whose recurrent matrix is far too small for 40 time steps.

import clew as torch
from clew import nn


class Rnn(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.d = d
        self.wx = nn.Parameter(torch.randn(2, d) * 0.5)
        self.wh = nn.Parameter(torch.randn(d, d) * 0.02)
        self.out = nn.Linear(d, 2)

    def forward(self, x):
        h = x.new_zeros(x.shape[0], self.d)
        for t in range(x.shape[1]):
            h = torch.tanh((x[:, t] if t < 3 else 0 * x[:, t]) @ self.wx + h @ self.wh)
        return self.out(h)


torch.manual_seed(0)
net = Rnn()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(25):
    x = torch.randn(16, 40, 2)
    y = (x[:, 0, 0] > 0).long()
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
