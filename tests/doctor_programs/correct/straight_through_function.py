# expect: nothing
# A sign activation with a custom autograd Function that passes the gradient inside [-1, 1].

import torch
from torch import nn


class SignSTE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sign()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() <= 1).to(grad_output.dtype)


class BinaryNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(6, 48)
        self.fc2 = nn.Linear(48, 2)

    def forward(self, x):
        return self.fc2(SignSTE.apply(self.fc1(x)))


torch.manual_seed(223)
x = torch.randn(120, 6)
y = (x[:, 0] + x[:, 1] > 0).long()
net = BinaryNet()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
losses = []
for _ in range(40):
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
