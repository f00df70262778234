# expect: batch-mixing line 16
# (batch, time, channels) is viewed as (time, batch, channels).

import clew as torch
from clew import nn


class Encoder(nn.Module):
    def __init__(self, c=4, h=12):
        super().__init__()
        self.rnn = nn.GRU(c, h)
        self.out = nn.Linear(h, 2)

    def forward(self, x):
        b, t, c = x.shape
        seq = x.reshape(t, b, c)
        _, h = self.rnn(seq)
        return self.out(h[-1])


torch.manual_seed(0)
net = Encoder()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for i in range(25):
    x = torch.randn(10, 7, 4)
    y = (x[:, -1, 0] > 0).long()
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
