# expect: nothing
# One linear layer may start at zero, and a rate of 1 is fine for it.

import torch

torch.manual_seed(272)
x = torch.randn(150, 4)
y = (x @ torch.tensor([1.0, -2.0, 0.5, 0.0]) > 0).float()
w = torch.zeros(4, requires_grad=True)
b = torch.zeros((), requires_grad=True)
optimizer = torch.optim.SGD([w, b], lr=1.0)
losses = []
for _ in range(40):
    logits = x @ w + b
    loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
