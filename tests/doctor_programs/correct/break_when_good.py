# expect: nothing
# Early exit: the loop ends after a backward without a step.

import clew as torch
from clew import nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
w = torch.tensor([[1.0], [2.0], [-1.0]])
for i in range(500):
    x = torch.randn(16, 3)
    loss = nn.functional.mse_loss(net(x), x @ w)
    opt.zero_grad()
    loss.backward()
    if loss.item() < 1e-3:
        break
    opt.step()
print(i, loss.item())
