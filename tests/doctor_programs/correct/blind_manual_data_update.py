# expect: nothing
# Old course style: w.data and w.grad.zero_ by hand after each update.

import torch
from torch.autograd import Variable

torch.manual_seed(0)
x, y = Variable(torch.randn(64, 10)), Variable(torch.randn(64, 2))
w1 = Variable(torch.randn(10, 20) * 0.1, requires_grad=True)
w2 = Variable(torch.randn(20, 2) * 0.1, requires_grad=True)
for t in range(50):
    pred = x.mm(w1).clamp(min=0).mm(w2)
    loss = (pred - y).pow(2).sum()
    loss.backward()
    w1.data -= 1e-3 * w1.grad.data
    w2.data -= 1e-3 * w2.grad.data
    w1.grad.data.zero_()
    w2.grad.data.zero_()
print(loss.item())
