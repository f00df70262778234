# expect: nothing

import clew as torch
import clew.nn as nn


class Affine(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.ls, self.t = nn.Parameter(torch.zeros(d)), nn.Parameter(torch.zeros(d))
        self.mix = nn.Linear(d, d)
        nn.init.orthogonal_(self.mix.weight)

    def forward(self, x):
        y = self.mix(x) * self.ls.exp() + self.t
        return y, self.ls.sum() + torch.linalg.slogdet(self.mix.weight)[1]


torch.manual_seed(0)
layers = nn.ModuleList([Affine(3) for _ in range(3)])
opt = torch.optim.Adam(layers.parameters(), lr=1e-2)
A = torch.randn(3, 3)
for i in range(100):
    x = torch.randn(64, 3) @ A + 1
    logdet = 0.0
    for l in layers:
        x, ld = l(x)
        logdet = logdet + ld
    log_prob = -0.5 * x.pow(2).sum(1) - 2.7568 + logdet
    loss = -log_prob.mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 25 == 0:
        print(i, loss.item())
