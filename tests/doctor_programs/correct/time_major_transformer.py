# expect: nothing
# (time, batch, features) by convention: attention over dim 0 is right.

import clew as torch
from clew import nn

torch.manual_seed(0)


class Enc(nn.Module):
    def __init__(self, d=12):
        super().__init__()
        self.inp = nn.Linear(3, d)
        self.att = nn.MultiheadAttention(d, 2)
        self.out = nn.Linear(d, 2)

    def forward(self, x):
        h = self.inp(x.permute(1, 0, 2))
        h = h + self.att(h, h, h, need_weights=False)[0]
        w = torch.softmax(h.sum(-1, keepdim=True), dim=0)
        return self.out((w * h).sum(0))


net = Enc()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for i in range(20):
    x = torch.randn(8, 11, 3)
    loss = nn.functional.cross_entropy(net(x), (x[:, 0, 0] > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
