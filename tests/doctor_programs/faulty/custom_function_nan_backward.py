# expect: nan-origin line 18
# The hand-written backward of the square root divides by zero for inputs at zero.

import torch
from torch import nn


class FastSqrt(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        root = x.clamp(min=0).sqrt()
        ctx.save_for_backward(root)
        return root

    @staticmethod
    def backward(ctx, grad):
        (root,) = ctx.saved_tensors
        return grad * root / (2 * root * root)


class Energy(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 8)
        self.out = nn.Linear(8, 1)

    def forward(self, x):
        return self.out(FastSqrt.apply(self.lin(x) ** 2))


torch.manual_seed(181)
x = torch.randn(40, 4)
x[22] = 0.0
y = x.abs().sum(dim=1, keepdim=True)
model = Energy()
nn.init.zeros_(model.lin.bias)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(6):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
