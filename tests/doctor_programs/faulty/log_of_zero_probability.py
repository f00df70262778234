# expect: nan-origin line 12
# The hand-written cross-entropy takes log of probabilities that underflow to exactly zero.

import torch
from torch import nn

torch.manual_seed(90)


def cross_entropy(logits, one_hot):
    probs = torch.softmax(logits, dim=1)
    return -(one_hot * torch.log(probs)).sum(dim=1).mean()


x = torch.randn(80, 6) * 4
y = x[:, :3].argmax(dim=1)
one_hot = nn.functional.one_hot(y, 3).float()
x[7] *= 40.0

model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(20):
    optimizer.zero_grad()
    loss = cross_entropy(model(x), one_hot)
    loss.backward()
    optimizer.step()
    if epoch % 4 == 0:
        print("epoch", epoch, "loss", loss.item())
