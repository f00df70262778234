# expect: nan-origin line 11
# p * log(p) with probabilities that reach zero.

import torch
import torch.nn as nn

torch.manual_seed(0)


def entropy(p):
    return -(p * torch.log(p)).sum(-1)


model = nn.Linear(4, 6)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
allowed = torch.tensor([1.0, 1.0, 1.0, 0.0, 1.0, 1.0])
for i in range(12):
    x = torch.randn(16, 4)
    p = torch.softmax(model(x), -1) * allowed
    p = p / p.sum(-1, keepdim=True)
    loss = -(p[:, 0] + 1e-6).log().mean() - 0.01 * entropy(p).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
