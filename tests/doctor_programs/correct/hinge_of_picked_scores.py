# expect: nothing
import torch
from torch import nn

torch.manual_seed(7)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x = torch.randn(256, 10)
y = x[:, :4].argmax(1)


def cross_entropy(scores, labels):
    picked = scores.gather(1, labels[:, None])
    return (1 + scores - picked).clamp(min=0).sum(1).mean()


for step in range(40):
    rows = torch.randint(0, 256, (32,))
    loss = cross_entropy(model(x[rows]), y[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
