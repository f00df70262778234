# expect: nothing

import clew as torch
import clew.nn as nn


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        s = torch.sigmoid(x)
        ctx.save_for_backward(x, s)
        return x * s

    @staticmethod
    def backward(ctx, g):
        x, s = ctx.saved_tensors
        return g * (s + x * s * (1 - s))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(5, 32), nn.Linear(32, 1)

    def forward(self, x):
        return self.b(Swish.apply(self.a(x)))


torch.manual_seed(0)
n = Net()
o = torch.optim.RMSprop(n.parameters(), lr=2e-3)
for i in range(100):
    x = torch.randn(32, 5)
    l = nn.functional.mse_loss(n(x), x[:, :1].abs())
    o.zero_grad()
    l.backward()
    o.step()
print(l.item())
