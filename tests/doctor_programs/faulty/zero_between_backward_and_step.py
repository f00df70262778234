# expect: zero-grad-before-step line 19
# zero_grad() runs after backward() and before step(), the optimizer sees no gradient.

import torch
from torch import nn

torch.manual_seed(7)
t = torch.linspace(-2, 2, 80).unsqueeze(1)
target = torch.sin(2 * t)

model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
loss_fn = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(30):
    out = model(t)
    loss = loss_fn(out, target)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    if epoch % 10 == 0:
        print(f"epoch {epoch} loss {loss.item():.5f}")
