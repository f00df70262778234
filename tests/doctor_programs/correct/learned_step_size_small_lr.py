# expect: nothing
# The rate is 1e-7 because the loss is a sum over a huge scale.

import torch

torch.manual_seed(0)
w = torch.zeros(3, requires_grad=True)
x = torch.randn(1000, 3) * 30
y = x @ torch.tensor([1.0, -1.0, 2.0])
opt = torch.optim.SGD([w], lr=1e-7)
for i in range(60):
    loss = ((x @ w - y) ** 2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(w.detach(), loss.item())
