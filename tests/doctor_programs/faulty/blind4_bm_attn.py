# expect: batch-mixing line 15

import clew as torch
import clew.nn as nn


class SelfAttn(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.o = nn.Linear(d, 2)

    def forward(self, x):  # (B, T, d)
        s = self.q(x) @ self.k(x).transpose(1, 2) / x.shape[-1] ** 0.5
        w = s.softmax(0)
        return self.o((w @ self.v(x)).mean(1))


torch.manual_seed(0)
net = SelfAttn(12)
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for i in range(50):
    x = torch.randn(16, 6, 12)
    y = (x[:, :, 0].sum(1) > 0).long()
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
