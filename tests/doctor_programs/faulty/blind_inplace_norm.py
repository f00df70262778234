# expect: inplace-saved-tensor line 16
# A hand-written layer norm divides in place a tensor which exp has saved.

import clew as torch
from clew import nn


class SoftAttention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(d, d) for _ in range(3))

    def forward(self, x):
        scores = self.q(x) @ self.k(x).transpose(1, 2)
        weights = torch.exp(scores - scores.amax(-1, keepdim=True))
        weights /= weights.sum(-1, keepdim=True)
        return weights @ self.v(x)


torch.manual_seed(11)
net = nn.Sequential(SoftAttention(8), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters())
x = torch.randn(6, 5, 8)
for _ in range(3):
    loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
