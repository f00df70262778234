# expect: retain-graph-misuse or graph-leak line 15
# backward(create_graph=True) without any use of second derivatives keeps each step's graph.

import torch
from torch import nn

torch.manual_seed(621)
model = nn.Sequential(nn.Linear(5, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x = torch.randn(60, 5)
y = x[:, :1] * x[:, 1:2]
for step in range(30):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward(create_graph=True)
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item())
