# expect: nothing
# float16 forward on copies of float32 master weights with a hand-made loss scale.

import torch
from torch import nn

torch.manual_seed(420)
master = [
    (torch.randn(16, 6) / 6**0.5).requires_grad_(),
    torch.zeros(16, requires_grad=True),
    (torch.randn(1, 16) / 4).requires_grad_(),
]
optimizer = torch.optim.SGD(master, lr=0.1)
x = torch.randn(80, 6)
y = x[:, :1] - 0.5 * x[:, 1:2]
scale = 1024.0
losses = []
for _ in range(40):
    w1, b1, w2 = (p.half() for p in master)
    hidden = torch.relu(nn.functional.linear(x.half(), w1, b1))
    prediction = nn.functional.linear(hidden, w2)
    loss = nn.functional.mse_loss(prediction.float(), y)
    optimizer.zero_grad()
    (loss * scale).backward()
    for p in master:
        p.grad.div_(scale)
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
