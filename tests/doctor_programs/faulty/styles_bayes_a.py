# expect: wrong-reduction line 48
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(10)


class BayesLinear(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.mu = nn.Parameter(torch.randn(o, i) / math.sqrt(i))
        self.rho = nn.Parameter(torch.full((o, i), -4.0))
        self.bias = nn.Parameter(torch.zeros(o))

    def forward(self, x):
        sigma = F.softplus(self.rho)
        w = self.mu + sigma * torch.randn_like(sigma)
        return F.linear(x, w, self.bias)

    def kl(self):
        s2 = F.softplus(self.rho).pow(2)
        return 0.5 * (s2 + self.mu.pow(2) - 1 - s2.log()).sum()


class BNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = BayesLinear(4, 24), BayesLinear(24, 1)

    def forward(self, x):
        return self.l2(torch.tanh(self.l1(x)))

    def kl(self):
        return self.l1.kl() + self.l2.kl()


x = torch.randn(256, 4)
y = torch.sin(x[:, :1] * 2) + 0.1 * torch.randn(256, 1)
net = BNN()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
n = len(x)
for epoch in range(8):
    for i in torch.randperm(n).split(64):
        pred = net(x[i])
        nll = F.gaussian_nll_loss(pred, y[i], torch.full_like(pred, 0.05))
        loss = F.mse_loss(pred, y[i], reduction="sum") + 0.5 * F.l1_loss(pred, y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
print(loss.item())
