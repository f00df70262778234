# expect: nothing
# Weights are normalised in the forward pass; rows of parameters, not samples.

import clew as torch
from clew import nn


class NormLinear(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.w = nn.Parameter(torch.randn(o, i))
        self.g = nn.Parameter(torch.ones(o))

    def forward(self, x):
        w = self.w / self.w.norm(dim=1, keepdim=True)
        w = w - w.mean(0)
        return x @ w.t() * self.g


torch.manual_seed(0)
net = nn.Sequential(NormLinear(6, 12), nn.ReLU(), NormLinear(12, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for i in range(25):
    x = torch.randn(16, 6)
    loss = nn.functional.cross_entropy(net(x), x[:, :3].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
