# expect: nothing
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(23)


class RoundSTE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, g):
        return g


def fake_quant(w, bits=4):
    scale = w.detach().abs().amax() / (2 ** (bits - 1) - 1)
    return RoundSTE.apply(w / scale) * scale


class QLinear(nn.Linear):
    def forward(self, x):
        return F.linear(x, fake_quant(self.weight), self.bias)


net = nn.Sequential(QLinear(10, 32), nn.Hardtanh(), QLinear(32, 32), nn.Hardtanh(), QLinear(32, 2))
opt = torch.optim.Adam(net.parameters(), lr=4e-3)
x = torch.randn(200, 10)
y = ((x[:, 0] * x[:, 1]) > 0).long()
for epoch in range(10):
    for i in torch.randperm(200).split(50):
        opt.zero_grad()
        loss = F.cross_entropy(net(x[i]), y[i])
        loss.backward()
        opt.step()
print(loss.item())
