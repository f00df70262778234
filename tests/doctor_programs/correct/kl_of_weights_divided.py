# expect: nothing
import torch
from torch import nn
import torch.nn.functional as F


class BayesLinear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.mu = nn.Parameter(torch.randn(n_out, n_in) * 0.1)
        self.rho = nn.Parameter(torch.full((n_out, n_in), -4.0))
        self.bias = nn.Parameter(torch.zeros(n_out))

    def forward(self, x):
        sigma = F.softplus(self.rho)
        return F.linear(x, self.mu + sigma * torch.randn_like(sigma), self.bias)

    def kl(self):
        sigma = F.softplus(self.rho)
        return (0.5 * (self.mu**2 + sigma**2 - 1) - sigma.log()).sum()


torch.manual_seed(0)
x, y = torch.randn(512, 12), torch.randint(0, 3, (512,))
layers = nn.ModuleList([BayesLinear(12, 24), BayesLinear(24, 3)])
optimizer = torch.optim.Adam(layers.parameters(), lr=2e-3)
for epoch in range(4):
    for i in range(0, 512, 64):
        h = layers[0](x[i : i + 64]).relu()
        nll = F.cross_entropy(layers[1](h), y[i : i + 64])
        kl = sum(layer.kl() for layer in layers)
        loss = nll + kl / len(x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
